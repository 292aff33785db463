/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/gemm_fixture.h"

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"

struct accel_sim sim_make_8(uint64_t seed)
{
	return (struct accel_sim){
		.n_devices = 8, .seed = seed, .flop_per_s = 4.3e7, .spread = 0.01
	};
}

static int keep(void *context, struct sample *s)
{
	return report_add_sample(context, s);
}

struct gemm_plan sim_plan(void)
{
	return (struct gemm_plan){
		.shape = { .m = 48, .n = 40, .k = 56, .dtype = ACCEL_F64, .out = ACCEL_F64 },
		.seed = 1,
		.warm_us = USEC_PER_SEC,
		.rate_us = 4500000,
		.check_us = USEC_PER_SEC,
		.deadline_us = 10 * USEC_PER_SEC, /* since the start of the engine's clock */
	};
}

struct ran sim_run_plan(struct accel_sim *sim, struct gemm_plan plan)
{
	struct ran ran = { .report = { .node = xstrdup("host1"),
				       .boot_id = xstrdup("b"),
				       .time = xstrdup("2026-03-01T10:00:00Z"),
				       .profile = xstrdup("quick") } };
	uint64_t start_us;

	plan.ops = accel_sim_ops(sim);
	plan.sink = (struct gemm_sink){ keep, &ran.report };
	ran.r = plan.ops->open(&plan.accel, &ran.err);
	if (ran.r < 0)
		return ran;
	start_us = plan.ops->now_us(plan.accel);
	plan.deadline_us += start_us;
	ran.r = gemm_run(&plan, &ran.err);
	ran.seconds = (double)(plan.ops->now_us(plan.accel) - start_us) * 1e-6;
	plan.ops->close(plan.accel);
	return ran;
}

struct ran sim_run(struct accel_sim *sim)
{
	return sim_run_plan(sim, sim_plan());
}

void ran_release(struct ran *ran)
{
	report_release(&ran->report);
}

const struct sample *ran_sample(const struct ran *ran, const char *check, const char *subject)
{
	size_t i;

	for (i = 0; i < ran->report.n_samples; i++) {
		const struct sample *s = &ran->report.samples[i];

		if (streq(s->check, check) && streq(s->subject, subject))
			return s;
	}
	return NULL;
}
