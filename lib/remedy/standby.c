/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/standby.h"

#include <errno.h>
#include <math.h>

#include "lib/base/err.h"

/* Logarithms of the same sum differ by rounding. */
#define SAME 1e-12

/* log(exp(a) + exp(b)). */
static double add(double a, double b)
{
	double more = MAX(a, b), less = MIN(a, b);

	return isinf(less) ? more : more + log1p(exp(less - more));
}

int standby_find(size_t hosts, double out, double certainty, struct standby *ret_standby,
		 struct err *err)
{
	double odds, term, sum;
	size_t k;

	if (hosts > STANDBY_HOSTS_MAX)
		return err_set(err, EINVAL, "%zu hosts: expected at most %d", hosts,
			       STANDBY_HOSTS_MAX);
	if (!(out >= 0 && out <= 1))
		return err_set(err, EINVAL, "a host is out with probability %g: expected 0 to 1",
			       out);
	if (!(certainty > 0 && certainty <= STANDBY_CERTAINTY_MAX))
		return err_set(err, EINVAL, "certainty %.10g: expected above 0 and at most %.10g",
			       certainty, STANDBY_CERTAINTY_MAX);
	if (out >= 1) {
		*ret_standby = (struct standby){ hosts, 1 };
		return 0;
	}
	odds = log(out) - log1p(-out);
	term = (double)hosts * log1p(-out);
	sum = term;
	for (k = 0; k < hosts && sum < log(certainty) - SAME; k++) {
		term += log((double)(hosts - k)) - log((double)(k + 1)) + odds;
		sum = add(sum, term);
	}
	*ret_standby = (struct standby){ k, MIN(exp(sum), 1) };
	return 0;
}
