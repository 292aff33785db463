/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/lateness_document.h"

#include "attribution/lateness.h"
#include "attribution/trace_job.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/ring/ring_words.h"

/* --- identity of ranks --- */

static const struct trace_worker *worker_of(const struct trace *trace, size_t rank)
{
	const size_t dp = trace->job.dp;

	return &trace->job.workers[rank % dp * trace->job.pp + rank / dp];
}

/* Highest rank of its tensor-parallel group. */
static int64_t last_rank(const struct trace *trace, size_t rank)
{
	return worker_of(trace, rank)->rank + (int64_t)trace->job.tp * (int64_t)trace->job.dsp - 1;
}

/* NULL: not in the trace. The caller frees it. */
static char *host_of(const struct trace *trace, size_t rank)
{
	const struct trace_job *job = &trace->job;

	return job->named ? utf8_clean(job->nodes[worker_of(trace, rank)->node]) : NULL;
}

static json_t *place_of(const struct trace *trace, size_t rank)
{
	CLEANUP(freep) char *host = host_of(trace, rank);
	json_t *object = json_object(), *hosts = json_array(), *ranks = json_array();

	if (host)
		(void)json_array_append_new(hosts, json_string(host));
	(void)json_array_append_new(ranks, json_integer(worker_of(trace, rank)->rank));
	(void)json_array_append_new(ranks, json_integer(last_rank(trace, rank)));
	json_put(object, "hosts", hosts);
	json_put(object, "dp", json_integer((json_int_t)(rank % trace->job.dp)));
	json_put(object, "stage", json_integer((json_int_t)(rank / trace->job.dp)));
	json_put(object, "ranks", ranks);
	return object;
}

/* --- results --- */

static json_t *slowest(const struct trace *trace, const struct lateness *lateness)
{
	const struct ring_lateness *l = &lateness->found;
	const struct ring_late *late;
	json_t *object;

	if (l->slowest < 0)
		return json_null();
	late = &l->ranks[l->slowest];
	object = place_of(trace, (size_t)l->slowest);
	json_put(object, "excess", json_number(late->own.excess));
	json_put(object, "late_s", json_number(late->late_s / lateness->steps));
	json_put(object, "wait_s", json_number(late->wait_s / lateness->steps));
	json_put(object, "last", json_integer((json_int_t)late->last));
	json_put(object, "collectives", json_integer((json_int_t)late->collectives));
	json_put(object, "stands_out", json_boolean(l->stands_out == l->slowest));
	return object;
}

static json_t *links(const struct trace *trace, const struct ring_lateness *l)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < l->n_links; i++) {
		const struct ring_slow_link *link = &l->links[i];
		json_t *object = json_object();

		json_put(object, "from", place_of(trace, link->from));
		json_put(object, "to", place_of(trace, link->to));
		json_put(object, "transfers", json_integer((json_int_t)link->n));
		json_put(object, "transfer_s", json_number(link->xfer_s));
		json_put(object, "usual_s", json_number(link->usual_s));
		(void)json_array_append_new(list, object);
	}
	return list;
}

static json_t *stalls(const struct trace *trace, const struct ring_lateness *l)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < l->n_stalls; i++) {
		const struct ring_stall *stall = &l->stalls[i];
		json_t *object = place_of(trace, stall->rank);

		json_put(object, "step", json_integer(trace->steps[stall->seq]));
		json_put(object, "seconds", json_number(stall->seconds));
		(void)json_array_append_new(list, object);
	}
	return list;
}

json_t *lateness_document(const struct trace *trace, const struct lateness *lateness)
{
	CLEANUP(freep) char *sentence = NULL;
	const struct ring_lateness *l = &lateness->found;
	json_t *object = json_object();

	json_put(object, "told", json_boolean(!lateness->why));
	if (lateness->why) {
		json_put(object, "why", json_string(lateness->why));
	} else {
		json_put(object, "slowest", slowest(trace, lateness));
		json_put(object, "good_most", json_number(l->tail));
		json_put(object, "links", links(trace, l));
		json_put(object, "stalls", stalls(trace, l));
	}
	sentence = ring_words_lateness(object);
	json_put(object, "sentence", json_string(sentence));
	return object;
}
