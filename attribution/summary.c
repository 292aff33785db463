/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/summary.h"

#include <math.h>
#include <stdlib.h>

#include "attribution/lateness_document.h"
#include "attribution/summary_detail.h"
#include "attribution/trace_job.h"
#include "attribution/words.h"
#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/stats.h"

#define FORMAT "assay-attribution-summary/1"
#define NS 1e9
#define NS_MAX 9e18 /* close to the largest 64-bit integer */

enum { SENTENCE_MAX = 4096 };

json_t *summary_interval(const struct interval *interval)
{
	json_t *object = json_object();

	json_put(object, "value", json_number(interval->value));
	json_put(object, "low", json_number(interval->low));
	json_put(object, "high", json_number(interval->high));
	return object;
}

/* The kind of test that can show it: the classes in docs/jobs.md. */
static const char *class_of_label(enum cause_label label)
{
	static const char *const classes[CAUSE_N] = {
		[CAUSE_REJECTED] = "unclear", [CAUSE_NONE] = "none",	[CAUSE_WORKER] = "unclear",
		[CAUSE_NODE] = "unclear",     [CAUSE_LINK] = "unclear", [CAUSE_STAGE] = "job",
		[CAUSE_SEQLEN] = "job",	      [CAUSE_GC] = "job",	[CAUSE_COMM] = "fabric",
		[CAUSE_UNKNOWN] = "unclear",
	};

	return classes[label];
}

static const char *class_of_suspects(const struct suspects *suspects)
{
	if (!suspects->identifiable)
		return "unclear";
	return suspects->transfers ? "link" : "compute";
}

/* Hosts are a class only if they are clear enough to count. */
static const char *class_of(const struct attribution *a)
{
	return a->suspects.counts ? class_of_suspects(&a->suspects)
				  : class_of_label(a->cause.primary);
}

static int by_rank(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

/* All of its ranks as ranges, first and last, ascending. Null: too many. */
static json_t *spans(const struct trace_job *job, const struct suspect *suspect)
{
	CLEANUP(freep) int64_t *ranks = xcalloc(suspect->n, sizeof(*ranks));
	const int64_t beside = (int64_t)job->tp * (int64_t)job->dsp;
	json_t *list = json_array();
	size_t i, from;

	for (i = 0; i < suspect->n; i++)
		ranks[i] = job->workers[suspect->workers[i]].rank;
	qsort(ranks, suspect->n, sizeof(*ranks), by_rank);
	for (i = from = 0; i < suspect->n; i++) {
		if (i + 1 < suspect->n && ranks[i + 1] == ranks[i] + beside)
			continue;
		(void)json_array_append_new(list, json_pack("[I, I]", (json_int_t)ranks[from],
							    (json_int_t)(ranks[i] + beside - 1)));
		from = i + 1;
	}
	if (json_array_size(list) <= SUMMARY_SPANS_MAX)
		return list;
	json_decref(list);
	return json_null();
}

static json_t *suspect(const struct attribution *a, const struct suspect *suspect)
{
	const struct suspects *all = &a->suspects;
	uint32_t pp = a->trace->job.pp;
	json_t *object = json_object(), *hosts = json_array(), *ranks = json_array();

	if (suspect->node >= 0) {
		CLEANUP(freep) char *name = utf8_clean(a->trace->job.nodes[suspect->node]);

		(void)json_array_append_new(hosts, json_string(name));
	}
	(void)json_array_append_new(ranks, json_integer(suspect->first_rank));
	(void)json_array_append_new(ranks, json_integer(suspect->last_rank));
	json_put(object, "hosts", hosts);
	json_put(object, "dp", json_count(suspect->worst / pp));
	json_put(object, "stage", json_count(suspect->worst % pp));
	json_put(object, "ranks", ranks);
	json_put(object, "rank_spans", spans(&a->trace->job, suspect));
	json_put(object, "class", json_string(class_of_suspects(all)));
	json_put(object, "share", summary_interval(&all->share));
	json_put(object, "alone", summary_interval(&suspect->alone));
	json_put(object, "gain", summary_interval(&all->gain));
	json_put(object, "speed",
		 json_pack("{s:o, s:o}", "now", json_number(suspect->now), "tested",
			   json_number(suspect->tested)));
	json_put(object, "identifiable", json_boolean(all->identifiable));
	json_put(object, "counts", json_boolean(all->counts));
	return object;
}

json_t *summary_suspects(const struct attribution *a)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < a->suspects.n; i++)
		(void)json_array_append_new(list, suspect(a, &a->suspects.list[i]));
	return list;
}

/* The worst slowdown of the workers in a cell. */
static double cell(const struct attribution *a, const size_t size[2], size_t row, size_t column)
{
	const struct trace_job *job = &a->trace->job;
	double worst = -INFINITY;
	size_t d, p;

	for (d = row * job->dp / size[0]; d < (row + 1) * job->dp / size[0]; d++) {
		for (p = column * job->pp / size[1]; p < (column + 1) * job->pp / size[1]; p++)
			worst = MAX(worst, a->slowdown.workers[d * job->pp + p]);
	}
	return worst;
}

static json_t *heat(const struct attribution *a)
{
	const struct trace_job *job = &a->trace->job;
	size_t size[2], row, column;
	json_t *object = json_object(), *rows = json_array();

	size[1] = MIN((size_t)job->pp, (size_t)SUMMARY_CELLS_MAX);
	size[0] = MIN((size_t)job->dp, MAX(SUMMARY_CELLS_MAX / size[1], (size_t)1));
	for (row = 0; row < size[0]; row++) {
		json_t *cells = json_array();

		for (column = 0; column < size[1]; column++)
			(void)json_array_append_new(cells, json_number(cell(a, size, row, column)));
		(void)json_array_append_new(rows, cells);
	}
	json_put(object, "rows", json_count(size[0]));
	json_put(object, "columns", json_count(size[1]));
	json_put(object, "row", json_string("dp"));
	json_put(object, "column", json_string("stage"));
	json_put(object, "values", rows);
	return object;
}

/* Null for impossible clock values. */
static json_t *nanoseconds(double seconds)
{
	return fabs(seconds) < NS_MAX / NS ? json_integer((json_int_t)llround(seconds * NS))
					   : json_null();
}

static double median_step(const struct attribution *a)
{
	size_t n = a->trace->n_steps;
	CLEANUP(freep) double *times = xcalloc(n, sizeof(*times));

	memcpy(times, a->slowdown.step_recorded, n * sizeof(*times));
	return stats_median_of(times, n);
}

json_t *summary_document(const struct attribution *a)
{
	CLEANUP(strbuf_release) struct strbuf sentence = STRBUF_INIT(SENTENCE_MAX);
	const struct trace *trace = a->trace;
	size_t last = trace->n_steps - 1;
	json_t *doc = json_object();

	json_put(doc, "format", json_string(FORMAT));
	json_put(doc, "steps", json_count(trace->n_steps));
	json_put(doc, "ranks", json_count(trace->job.world));
	json_put(doc, "dp", json_count(trace->job.dp));
	json_put(doc, "pp", json_count(trace->job.pp));
	json_put(doc, "hosts", json_count(trace->job.n_nodes));
	json_put(doc, "from_ns", nanoseconds(trace->began[0]));
	json_put(doc, "until_ns", nanoseconds(trace->began[last] + a->slowdown.step_recorded[last]));
	json_put(doc, "step_s", json_number(median_step(a)));
	json_put(doc, "slowdown", summary_interval(&a->s));
	json_put(doc, "cause", json_string(cause_name(a->cause.primary)));
	json_put(doc, "class", json_string(class_of(a)));
	json_put(doc, "enough", json_boolean(a->suspects.enough));
	json_put(doc, "suspects", summary_suspects(a));
	json_put(doc, "heat", heat(a));
	json_put(doc, "lateness", lateness_document(trace, &a->lateness));
	json_put(doc, "detail", summary_detail(a));
	words_sentence(a, &sentence);
	json_put(doc, "sentence", json_string(strbuf_text(&sentence)));
	return doc;
}
