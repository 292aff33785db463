/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/job_plan.h"

#include "lib/base/duration.h"
#include "lib/json/json.h"

struct job_plan job_plan_init(void)
{
	return (struct job_plan){ .least = JOB_PLAN_HOSTS_MIN,
				  .most = JOB_PLAN_HOSTS_MAX,
				  .every_us = 10 * USEC_PER_MIN,
				  .run_us = 12 * USEC_PER_HOUR,
				  .rest_us = USEC_PER_HOUR,
				  .move = 0.3,
				  .stale = 0.05,
				  .lie = 0.02,
				  .boot = 0.05,
				  .own = 0.1,
				  .pair = 0.05,
				  .dip = 0.001 };
}

/* Percent in the file, fractions here. */
#define AT(m) offsetof(struct job_plan, m)
static const struct jfield fields[] = {
	{ "move_percent", J_REAL, AT(move), 0, .min = 0, .max = 100 },
	{ "stale_percent", J_REAL, AT(stale), 0, .min = 0, .max = 100 },
	{ "lie_percent", J_REAL, AT(lie), 0, .min = 0, .max = 100 },
	{ "boot_percent", J_REAL, AT(boot), 0, .min = 0, .max = 100 },
	{ "own_percent", J_REAL, AT(own), 0, .min = 0, .max = 100 },
	{ "pair_percent", J_REAL, AT(pair), 0, .min = 0, .max = 100 },
	{ "dip_percent", J_REAL, AT(dip), 0, .min = 0, .max = 100 },
	{ "count", J_U64, AT(count), 0, .min = 0, .max = JOB_PLAN_MAX },
	{ "least", J_U64, AT(least), 0, .min = JOB_PLAN_HOSTS_MIN, .max = JOB_PLAN_HOSTS_MAX },
	{ "most", J_U64, AT(most), 0, .min = JOB_PLAN_HOSTS_MIN, .max = JOB_PLAN_HOSTS_MAX },
	{ "every", J_DURATION, AT(every_us), 0 },
	{ "run", J_DURATION, AT(run_us), 0 },
	{ "rest", J_DURATION, AT(rest_us), 0 },
};
#undef AT
enum { N_PERCENTS = 7 };

static void scale(struct job_plan *plan, double factor)
{
	size_t i;

	for (i = 0; i < N_PERCENTS; i++)
		*(double *)((char *)plan + fields[i].offset) *= factor;
}

int job_plan_decode(const struct jval *v, void *member, struct err *err)
{
	struct job_plan *plan = member;
	int r;

	scale(plan, 100);
	r = jval_decode(v, fields, ARRAY_SIZE(fields), JVAL_STRICT, plan, err);
	scale(plan, 0.01);
	if (r < 0)
		return r;
	if (plan->least > plan->most)
		return jval_fail(v, err, "least is more than most");
	/* The clock advances by minutes; a run of no duration would loop for ever. */
	if (plan->every_us < USEC_PER_MIN || plan->run_us < USEC_PER_HOUR)
		return jval_fail(v, err, "expected every of a minute at least, and run of an hour");
	return 0;
}
