/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_ways.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/rdma/flow_sink.h"
#include "probes/rnic_pair/pair_connect.h"
#include "probes/rnic_pair/pair_guard.h"
#include "probes/rnic_pair/pair_measure.h"
#include "probes/rnic_pair/pair_schedule.h"

enum { RETRIES = 7, NSEC_PER_USEC = 1000 };

static const int ways[] = { PAIR_SEND_BW, PAIR_BIDIR_BW };

static bool is_wanted(const struct pair_options *o, int check)
{
	return check == PAIR_SEND_BW ? o->send : o->bidirectional;
}

size_t pair_ways_count(const struct pair_options *o)
{
	size_t i, n = 0;

	for (i = 0; i < ARRAY_SIZE(ways); i++)
		n += is_wanted(o, ways[i]);
	return n;
}

/*
 * Jobs measured at the same time. If both directions are, the lanes of the reverse directions
 * follow: they are guarded too, but reported by their own job.
 */
struct way {
	const struct pair_plan *plan;
	int check;
	struct pair_job *jobs[PAIR_PORTS_MAX / 2];
	const struct pair_lanes *lanes[PAIR_PORTS_MAX];
	struct sample samples[PAIR_PORTS_MAX];
	struct pair_guard guards[PAIR_PORTS_MAX];
	size_t n;
};

static struct sample sample_of(const struct way *w, const struct pair_job *job)
{
	const struct pair_end from = pair_end_of(job->from), to = pair_end_of(job->to);

	return pair_sample(&from, &to, w->check, w->plan->has_topology ? &w->plan->topology : NULL);
}

static int emit_unmeasured(const struct way *w, const struct pair_job *job, int state,
			   const char *why)
{
	struct sample s = sample_of(w, job);

	s.state = state;
	s.note = xstrdup(why);
	return probe_emit(w->plan->probe, &s);
}

/* What runs beside a job: its own reverse direction, and the others. */
static char **beside(const struct way *w, size_t which)
{
	char **with = xcalloc(w->n + 1, sizeof(*with));
	size_t i, n = 0;

	if (w->check == PAIR_BIDIR_BW) {
		const struct pair_job back = { .from = w->jobs[which]->to,
					       .to = w->jobs[which]->from };

		with[n++] = pair_job_subject(&back);
	}
	for (i = 0; i < w->n; i++) {
		if (i != which)
			with[n++] = pair_job_subject(w->jobs[i]);
	}
	if (n > 0)
		return with;
	free(with);
	return NULL;
}

static int join(struct way *w, struct pair_job *job)
{
	const struct pair_options *o = w->plan->probe->options;
	const struct pair_want want = {
		.qps = pair_job_queues(job),
		.depth = o->depth,
		.retries = RETRIES,
		.mtu = o->mtu,
		.receives = w->check == PAIR_SEND_BW ? SINK_SPARE * o->depth : 0,
	};
	struct err err = ERR_INIT;

	if (job->verdict.state != SAMPLE_MEASURED)
		return emit_unmeasured(w, job, job->verdict.state, job->verdict.note);
	if (job->verdict.ok == TRI_NO)
		return emit_unmeasured(w, job, SAMPLE_ABORTED, "not tried: no connection");
	if (pair_join(job, &want, &err) < 0)
		return emit_unmeasured(w, job, SAMPLE_SET_UP, err.msg);
	w->jobs[w->n] = job;
	w->lanes[w->n++] = &job->writer;
	return 0;
}

static int measure(struct way *w, uint64_t us)
{
	const struct rdma_engine *engine = w->plan->engine;
	const uint64_t now_us = engine->ops->now_ns(w->plan->engine) / NSEC_PER_USEC;
	const uint64_t most_us = pair_patience_us(us, probe_left_us(w->plan->probe));
	const struct pair_time time = { us, now_us + most_us };
	const size_t n = w->check == PAIR_BIDIR_BW ? 2 * w->n : w->n;
	size_t i;
	int r = 0;

	for (i = 0; i < n; i++) {
		w->samples[i] = sample_of(w, w->jobs[i % w->n]);
		w->samples[i].with = beside(w, i % w->n);
		w->lanes[i] = i < w->n ? w->lanes[i] : w->lanes[i - w->n]->opposite;
	}
	pair_guard_begin(w->lanes, n, w->guards);
	pair_bandwidth_by(w->check, w->lanes, w->n, &time, w->samples);
	pair_guard_end(w->lanes, n, w->guards, w->samples);
	for (i = 0; i < n; i++) {
		if (r == 0 && i < w->n)
			r = probe_emit(w->plan->probe, &w->samples[i]);
		sample_release(&w->samples[i]);
	}
	return r;
}

int pair_ways_run(const struct pair_plan *p, struct pair_job *jobs, size_t n, uint64_t us)
{
	size_t i, k;
	int r = 0;

	for (k = 0; r == 0 && k < ARRAY_SIZE(ways); k++) {
		CLEANUP(freep) struct way *w = xcalloc(1, sizeof(*w));

		*w = (struct way){ .plan = p, .check = ways[k] };
		if (!is_wanted(p->probe->options, w->check))
			continue;
		for (i = 0; r == 0 && i < n; i++)
			r = join(w, &jobs[i]);
		if (r == 0 && w->n > 0)
			r = measure(w, us);
		for (i = 0; i < n; i++)
			pair_part(&jobs[i]);
	}
	return r;
}
