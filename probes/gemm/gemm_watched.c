/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "lib/xalloc.h"
#include "probes/accel/watch.h"
#include "probes/gemm/gemm.h"

static int measure(void *context, struct err *err)
{
	return gemm_run(context, err);
}

/* The GPU that was last asked for something has not answered: the others could not be measured. */
static int tell_blocked(const struct gemm_plan *plan, struct err *err)
{
	struct sample s = sample_init();
	int r;

	s.check = xstrdup("gemm.rate");
	s.unit = xstrdup("FLOP/s");
	s.better = BETTER_HIGHER;
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
		return tell_blocked(plan, err);
	free(own);
	return r;
}
