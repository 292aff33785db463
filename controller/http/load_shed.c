/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/load_shed.h"

#include "lib/base/duration.h"
#include "lib/base/macro.h"

enum { FEW = 4 }; /* "few": less than one in so many */

void load_shed_kept(struct load_shed *s)
{
	s->kept++;
}

/* Everyone told in the last period has retried by its end. */
static void end_period(struct load_shed *s, uint64_t now_us)
{
	if (s->told > s->kept)
		s->within_s = MIN(2 * s->within_s, (unsigned)LOAD_SHED_WITHIN_MAX_S);
	else if (FEW * s->told < s->kept)
		s->within_s = MAX(s->within_s / 2, (unsigned)LOAD_SHED_WITHIN_MIN_S);
	s->since_us = now_us;
	s->kept = s->told = 0;
}

unsigned load_shed_tell(struct load_shed *s, uint64_t now_us)
{
	if (s->within_s == 0) {
		s->within_s = LOAD_SHED_WITHIN_MIN_S;
		s->since_us = now_us;
	}
	/* Nobody was told for a long time: a different crowd. */
	if (now_us - s->since_us >= 2 * LOAD_SHED_WITHIN_MAX_S * USEC_PER_SEC)
		*s = (struct load_shed){ .since_us = now_us, .within_s = LOAD_SHED_WITHIN_MIN_S };
	else if (now_us - s->since_us >= s->within_s * USEC_PER_SEC)
		end_period(s, now_us);
	s->told++;
	return s->within_s;
}
