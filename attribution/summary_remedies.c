/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/summary_remedies.h"

#include <math.h>
#include <stdlib.h>

#include "attribution/summary_detail.h"
#include "attribution/trace_job.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* Decimals of a slowdown: profiler clocks are not more accurate. */
#define FINE 1e4

static json_t *time_range(const struct interval *time)
{
	return json_pack("{s:o, s:o, s:o}", "value", json_number(time->value), "low",
			 json_number(time->low), "high", json_number(time->high));
}

/* Steps with only that fixed, if it is what slows the job; else null. */
static json_t *mended(const struct attribution *a, enum cause_label label, enum slowdown_fix fix)
{
	const double *times = a->slowdown.step_fixed[fix];
	CLEANUP(freep) double *means = xcalloc(a->bootstrap.n_draws + 1, sizeof(*means));
	struct interval time;

	if (!times || !cause_has(&a->cause, label))
		return json_null();
	bootstrap_means(&a->bootstrap, times, means);
	time = bootstrap_interval(&a->bootstrap, means);
	return time_range(&time);
}

static json_t *seconds(const double *values, size_t n)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		(void)json_array_append_new(list, json_number(values[i]));
	return list;
}

/* Distribution of its work; omitted for jobs with too many workers or without micro-batches. */
static void put_outline(json_t *object, const struct attribution *a)
{
	const struct outline *outline = &a->outline;
	const struct trace_job *job = &a->trace->job;
	const size_t n = (size_t)job->dp * job->pp;
	json_t *slowdown;
	size_t i;

	if (outline->microbatches == 0 || n > DETAIL_WORKERS_MAX)
		return;
	json_put(object, "dp", json_integer(job->dp));
	json_put(object, "pp", json_integer(job->pp));
	if (job->vpp > 1)
		json_put(object, "vpp", json_integer(job->vpp));
	json_put(object, "microbatches", json_integer((json_int_t)outline->microbatches));
	json_put(object, "forward_s", seconds(outline->forward_s, job->pp));
	json_put(object, "backward_s", seconds(outline->backward_s, job->pp));
	slowdown = json_array();
	for (i = 0; i < n; i++)
		(void)json_array_append_new(slowdown,
					    json_number(round(outline->slowdown[i] * FINE) / FINE));
	json_put(object, "slowdown", slowdown);
}

/* One worker identifies each host: the reader knows hosts by other names. */
static json_t *sets(const struct attribution *a)
{
	const struct trace_job *job = &a->trace->job;
	json_t *list = json_array();
	size_t i, w;

	for (i = 0; i < a->replace.n; i++) {
		const struct replace_host *host = &a->replace.list[i];

		for (w = 0; job->workers[w].node != (int32_t)host->node; w++)
			;
		(void)json_array_append_new(
			list, json_pack("{s:I, s:o, s:o}", "worker", (json_int_t)w, "T",
					time_range(&host->time), "gap_s", json_number(host->gap_s)));
	}
	return list;
}

json_t *summary_remedies(const struct attribution *a)
{
	json_t *object = json_object();

	put_outline(object, a);
	json_put(object, "replace", sets(a));
	json_put(object, "sequences", mended(a, CAUSE_SEQLEN, FIX_LEVELLED));
	json_put(object, "gc", mended(a, CAUSE_GC, FIX_PAUSES));
	json_put(object, "pause_s", json_number(a->outline.pause_s));
	json_put(object, "stages", json_boolean(cause_has(&a->cause, CAUSE_STAGE)));
	return object;
}

json_t *summary_replace(const struct attribution *a)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < a->replace.n; i++) {
		const struct replace_host *host = &a->replace.list[i];

		(void)json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o, s:o}", "node",
							    a->trace->job.nodes[host->node],
							    "T_fix", json_number(host->time.value),
							    "low", json_number(host->time.low),
							    "high", json_number(host->time.high),
							    "gap_s", json_number(host->gap_s)));
	}
	return list;
}
