/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gemm/gemm_device.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/accel/watch.h"
#include "probes/gemm/gemm_data.h"

bool gemm_live(const struct gemm_device *d)
{
	return d->failed == 0 && (!d->in_use || d->plan->run_busy);
}

void gemm_fail(struct gemm_device *d, int r, const struct err *err)
{
	d->failed = r;
	(void)snprintf(d->why, sizeof(d->why), "%s", err->msg);
}

static json_t *params(const struct gemm_device *d)
{
	const struct gemm_plan *plan = d->plan;
	CLEANUP(freep)
	char *shape = xasprintf("%ux%ux%u", plan->shape.m, plan->shape.n, plan->shape.k);
	json_t *p = json_pack("{s:s, s:s, s:s, s:s, s:s}", "engine", plan->ops->name, "dtype",
			      accel_dtype_names[plan->shape.dtype], "shape", shape, "data",
			      GEMM_DATA, "version", plan->ops->version(plan->accel));

	if (d->job.gemm)
		json_object_set_new(p, "algorithm",
				    json_string(plan->ops->gemm_algorithm(d->job.gemm)));
	plan->ops->device_params(plan->accel, d->index, p);
	return p;
}

struct sample gemm_sample(const struct gemm_device *d, const char *check)
{
	struct sample s = sample_init();

	s.check = xstrdup(check);
	s.subject = xstrdup(d->info.subject);
	s.locality = xstrdup("self");
	s.params = params(d);
	if (d->failed) {
		accel_failure_fill(&s, d->plan->gpu ? d->info.subject : NULL, d->failed, d->why);
	} else if (!gemm_live(d)) {
		s.state = SAMPLE_BUSY;
		s.note = xstrdup(d->busy);
	}
	return s;
}

void gemm_sample_time(struct sample *s, const struct gemm_plan *plan, uint64_t start_us,
		      uint64_t end_us)
{
	s->start = ((double)start_us + (double)plan->epoch_us) * 1e-6;
	s->seconds = (double)(end_us - start_us) * 1e-6;
}

int gemm_emit(struct gemm_run *run, struct sample *s)
{
	int r = run->plan->sink.emit(run->plan->sink.context, s);

	return r < 0 ? r : 0;
}
