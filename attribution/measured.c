/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/measured.h"

#include "attribution/pace.h"
#include "attribution/trace_job.h"
#include "lib/base/xalloc.h"

struct measured measured_of(const struct attribution *a)
{
	const struct trace_job *job = &a->trace->job;
	CLEANUP(pace_release)
	struct pace pace = pace_find(a->trace, &a->cost, a->options.n_threads);
	CLEANUP(freep) bool *nobody = xcalloc((size_t)job->dp * job->pp, sizeof(*nobody));
	CLEANUP(pace_level_release) struct pace_level level = pace_level_of(&pace, nobody, true);
	struct measured m = { .dp = job->dp,
			      .pp = job->pp,
			      .microbatches = pace.count[OP_FORWARD_COMPUTE] / job->vpp,
			      .forward_s = xcalloc(job->pp, sizeof(double)),
			      .backward_s = xcalloc(job->pp, sizeof(double)),
			      .slowdown = xcalloc((size_t)job->dp * job->pp, sizeof(double)) };
	size_t p, w;

	for (p = 0; p < m.pp; p++) {
		m.forward_s[p] = level.mean[p * OPTYPE_N + OP_FORWARD_COMPUTE] * job->vpp;
		m.backward_s[p] = level.mean[p * OPTYPE_N + OP_BACKWARD_COMPUTE] * job->vpp;
	}
	for (w = 0; w < m.dp * m.pp; w++) {
		const double *mean = pace.mean + w * OPTYPE_N;
		double good = (m.forward_s[w % m.pp] + m.backward_s[w % m.pp]) / job->vpp;

		m.slowdown[w] =
			good > 0 ? (mean[OP_FORWARD_COMPUTE] + mean[OP_BACKWARD_COMPUTE]) / good
				 : 1;
	}
	return m;
}

void measured_release(struct measured *m)
{
	free(m->forward_s);
	free(m->backward_s);
	free(m->slowdown);
	*m = (struct measured){ .dp = 0 };
}
