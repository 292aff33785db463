/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/report_clock.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "controller/store/store.h"

/* Ten years. */
#define AGE_MAX_S 315360000.0

static bool parse_age(const char *text, uint64_t *ret_us)
{
	char *end = NULL;
	double seconds;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	seconds = strtod(text, &end);
	if (errno || *end || !(seconds <= AGE_MAX_S))
		return false;
	*ret_us = (uint64_t)(seconds * 1e6);
	return true;
}

struct report_clock report_clock_of(const char *age, const char *time, uint64_t now_us)
{
	uint64_t age_us = 0, real_us;
	struct report_clock a = { .now_us = now_us, .skew_s = NAN };

	if (age && parse_age(age, &age_us))
		a.timed = true;
	else if (age)
		age_us = STORE_STALE_US + USEC_PER_SEC;
	if (time && clock_parse_stamp(time, &real_us) == 0)
		a.skew_s = ((double)real_us - (double)now_us) / 1e6;
	a.fresh = age_us <= STORE_STALE_US;
	a.measured_us = now_us > age_us ? now_us - age_us : 0;
	return a;
}
