/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/accel/watch.h"
#include "probes/gemm/gemm.h"

static int measure(void *context, struct err *err)
{
	return gemm_run(context, err);
}

/* As they are told otherwise. */
static const struct {
	const char *check, *unit;
	int better;
} units[] = {
	{ "gemm.rate", "FLOP/s", BETTER_HIGHER }, /* also before any */
	{ "gemm.overlap", "FLOP/s", BETTER_HIGHER }, { "gemm.burn_rate", "FLOP/s", BETTER_HIGHER },
	{ "gemm.correct", "1", BETTER_LOWER },	     { "gemm.launch", "s", BETTER_LOWER },
	{ "gemm.chain", "s", BETTER_LOWER },
};

/*
 * The GPU that was last asked for something has not answered: the others could
 * not be measured, but what was told before stands.
 */
static int tell_blocked(const struct gemm_plan *plan, struct err *err)
{
	const char *check = plan->check;
	struct sample s = sample_init();
	size_t i = 0, n;
	int r;

	for (n = 0; check && n < ARRAY_SIZE(units); n++)
		i = streq(units[n].check, check) ? n : i;
	s.check = xstrdup(units[i].check);
	s.unit = xstrdup(units[i].unit);
	s.better = units[i].better;
	r = accel_blocked(plan->accel, &s, err);
	if (s.subject)
		(void)plan->sink.emit(plan->sink.context, &s);
	sample_release(&s);
	return r;
}

int gemm_run_watched(const struct gemm_plan *plan, uint64_t deadline_us, struct err *err)
{
	struct gemm_plan *own = xcalloc(1, sizeof(*own)); /* kept when the thread hangs */
	int r;

	*own = *plan;
	r = accel_watch(measure, own, deadline_us, err);
	if (r == -ETIMEDOUT)
		return tell_blocked(own, err);
	if (!own->leaves) /* threads that are late have it still */
		free(own);
	return r;
}
