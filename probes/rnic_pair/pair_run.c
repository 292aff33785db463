/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_run.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "probes/rdma/oob.h"
#include "probes/rdma/oob_lookup.h"
#include "probes/rnic_pair/pair_apart.h"
#include "probes/rnic_pair/pair_connect.h"
#include "probes/rnic_pair/pair_guard.h"
#include "probes/rnic_pair/pair_measure.h"
#include "probes/rnic_pair/pair_peer.h"
#include "probes/rnic_pair/pair_plan.h"
#include "probes/rnic_pair/pair_schedule.h"
#include "probes/rnic_pair/pair_ways.h"

/* With less time, a direction cannot fill its windows; with more, nothing is gained. */
#define DIRECTION_MIN_US (200 * USEC_PER_MSEC)
#define DIRECTION_MAX_US (3 * USEC_PER_SEC)
#define BANDWIDTH_SHARE 0.80
#define LATENCY_SHARE 0.10

/* Part of the budget for all connections. */
#define CONNECT_SHARE 0.5

enum { RETRIES = 7, NSEC_PER_USEC = 1000 };

static const struct pair_options *options_of(const struct pair_plan *p)
{
	return p->probe->options;
}

static struct sample sample_of(const struct pair_plan *p, const struct pair_job *job, int check)
{
	const struct pair_end from = pair_end_of(job->from), to = pair_end_of(job->to);

	return pair_sample(&from, &to, check, p->has_topology ? &p->topology : NULL);
}

/* Emit the connection of each job, with the address it was made from. */
static int emit_connections(const struct pair_plan *p)
{
	const char *left_out = p->left_out;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < p->n_jobs; i++) {
		const struct pair_job *job = &p->jobs[i];
		struct sample s;

		if (job->verdict.untold)
			continue;
		s = sample_of(p, job, PAIR_CONNECT);
		pair_sample_verdict(&s, &job->verdict);
		if (s.ok == TRI_YES && job->from->gid.index >= 0) {
			CLEANUP(freep) char *note = s.note;

			s.note = xasprintf("%s; GID %s", note, job->from->gid.reason);
		}
		if (left_out) {
			CLEANUP(freep) char *note = s.note;

			s.note = xasprintf("%s; %s", note, left_out);
			left_out = NULL;
		}
		r = probe_emit(p->probe, &s);
	}
	return r;
}

/* Emit bandwidth and latency as not measured, for the same reason as the connection. */
static int emit_unmeasured(const struct pair_plan *p, const struct pair_job *job, int state,
			   const char *why)
{
	int check, r = 0;

	for (check = PAIR_WRITE_BW; r == 0 && check < PAIR_CHECKS; check++) {
		struct sample s = sample_of(p, job, check);

		s.state = state;
		s.note = xstrdup(why);
		r = probe_emit(p->probe, &s);
	}
	return r;
}

/* Jobs measured at the same time. */
struct together {
	struct pair_job *jobs[PAIR_PORTS_MAX / 2];
	const struct pair_lanes *lanes[PAIR_PORTS_MAX / 2];
	struct sample bandwidth[PAIR_PORTS_MAX / 2];
	struct sample latency[PAIR_PORTS_MAX / 2];
	struct pair_guard guards[PAIR_PORTS_MAX / 2];
	size_t n;
};

/* The subjects of the other jobs, or NULL if there are none. */
static char **others_of(const struct together *t, size_t which)
{
	char **with;
	size_t i, n = 0;

	if (t->n < 2)
		return NULL;
	with = xcalloc(t->n, sizeof(*with));
	for (i = 0; i < t->n; i++) {
		if (i != which)
			with[n++] = pair_job_subject(t->jobs[i]);
	}
	return with;
}

/* Collect the jobs that can be measured; the samples of the others say why not. */
static int gather(const struct pair_plan *p, struct pair_job *jobs, size_t n, struct together *ret)
{
	const struct pair_options *o = options_of(p);
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < n; i++) {
		struct pair_job *job = &jobs[i];
		const struct pair_want want = { .qps = pair_job_queues(job),
						.depth = o->depth,
						.retries = RETRIES,
						.mtu = o->mtu };
		struct err err = ERR_INIT;

		if (job->verdict.ok == TRI_NO) {
			r = emit_unmeasured(p, job, SAMPLE_ABORTED, "not tried: no connection");
		} else if (job->verdict.state != SAMPLE_MEASURED) {
			r = emit_unmeasured(p, job, job->verdict.state, job->verdict.note);
		} else if (pair_join(job, &want, &err) < 0) {
			r = emit_unmeasured(p, job, SAMPLE_SET_UP, err.msg);
		} else {
			ret->jobs[ret->n] = job;
			ret->lanes[ret->n++] = &job->writer;
		}
	}
	return r;
}

static void measure_latency(struct together *t, size_t which, const struct pair_time *time)
{
	const struct sample *bandwidth = &t->bandwidth[which];
	struct sample *s = &t->latency[which];

	if (pair_guard_goes_on(bandwidth)) {
		pair_guard_begin(&t->lanes[which], 1, t->guards);
		pair_latency(t->lanes[which], time, s);
		pair_guard_end(&t->lanes[which], 1, t->guards, s);
		return;
	}
	s->state = SAMPLE_ABORTED;
	s->note = xstrdup("not tried: the queue pairs were lost in the bandwidth test");
}

/* Latency may take as long as bandwidth does, budget permitting. */
static struct pair_time latency_time(const struct pair_plan *p, uint64_t us, uint64_t most_us)
{
	const uint64_t now_us = p->engine->ops->now_ns(p->engine) / NSEC_PER_USEC;
	const uint64_t left_us = pair_patience_us(us, probe_left_us(p->probe));

	return (struct pair_time){ us, now_us + MAX(us, MIN(most_us, left_us)) };
}

static int measure(const struct pair_plan *p, struct together *t, uint64_t us)
{
	const uint64_t now_us = p->engine->ops->now_ns(p->engine) / NSEC_PER_USEC;
	const uint64_t most_us = pair_patience_us(us, probe_left_us(p->probe));
	const struct pair_time time = { (uint64_t)((double)us * BANDWIDTH_SHARE), now_us + most_us };
	size_t i;
	int r = 0;

	for (i = 0; i < t->n; i++) {
		t->bandwidth[i] = sample_of(p, t->jobs[i], PAIR_WRITE_BW);
		t->bandwidth[i].with = others_of(t, i);
		t->latency[i] = sample_of(p, t->jobs[i], PAIR_WRITE_LAT);
	}
	pair_guard_begin(t->lanes, t->n, t->guards);
	pair_bandwidth(t->lanes, t->n, &time, t->bandwidth);
	pair_guard_end(t->lanes, t->n, t->guards, t->bandwidth);
	for (i = 0; i < t->n; i++) {
		const struct pair_time brief =
			latency_time(p, (uint64_t)((double)us * LATENCY_SHARE / (double)t->n), us);

		measure_latency(t, i, &brief);
	}
	for (i = 0; i < t->n; i++) {
		if (r == 0)
			r = probe_emit(p->probe, &t->bandwidth[i]);
		if (r == 0)
			r = probe_emit(p->probe, &t->latency[i]);
		sample_release(&t->bandwidth[i]);
		sample_release(&t->latency[i]);
	}
	return r;
}

static int run_group(const struct pair_plan *p, struct pair_job *jobs, size_t n, uint64_t us)
{
	CLEANUP(freep) struct together *t = xcalloc(1, sizeof(*t));
	size_t i;
	int r = 0;

	if (us < DIRECTION_MIN_US) {
		for (i = 0; r == 0 && i < n; i++)
			r = emit_unmeasured(p, &jobs[i], SAMPLE_TIMEOUT,
					    "no time left in the budget for this pair");
		return r;
	}
	numa_go_near(&p->host, jobs[0].from->port->numa_node);
	r = gather(p, jobs, n, t);
	if (r == 0 && t->n > 0)
		r = measure(p, t, us);
	for (i = 0; i < n; i++)
		pair_part(&jobs[i]);
	return r == 0 ? pair_ways_run(p, jobs, n, us) : r;
}

/* How many jobs from this one on run together; one for software devices, which share our cores. */
static size_t group_size(const struct pair_plan *p, size_t first)
{
	size_t n = 1;

	while (!pair_plan_is_software(p) && first + n < p->n_jobs &&
	       p->jobs[first + n].group == p->jobs[first].group)
		n++;
	return n;
}

static size_t count_groups(const struct pair_plan *p, size_t first)
{
	size_t groups = 0;

	for (; first < p->n_jobs; first += group_size(p, first))
		groups++;
	return groups;
}

static int measure_all(const struct pair_plan *p)
{
	const size_t parts = 1 + pair_ways_count(options_of(p)); /* of a group's time */
	size_t first = 0;
	int r = 0;

	while (r == 0 && first < p->n_jobs) {
		size_t n = group_size(p, first);
		uint64_t us = probe_left_us(p->probe) / (parts * count_groups(p, first) + 1);

		r = run_group(p, &p->jobs[first], n, MIN(us, DIRECTION_MAX_US));
		first += n;
	}
	return r;
}

/* --- ports that reached another one in any run: {"met": {"mlx5_0:1": true}} --- */

static char *name_of(const struct pair_side *side)
{
	return xasprintf("%s:%u", side->port->device, side->port->number);
}

static json_t *recall_met(struct pair_plan *p)
{
	CLEANUP(json_freep) json_t *kept = probe_load(p->probe, true);
	json_t *met = json_object_get(kept, "met");
	size_t i;

	for (i = 0; i < p->n_sides; i++) {
		CLEANUP(freep) char *name = name_of(&p->sides[i]);

		p->sides[i].met_before = json_is_true(json_object_get(met, name));
	}
	return json_is_object(met) ? json_incref(met) : json_object();
}

static void keep_met(const struct pair_plan *p, json_t *met)
{
	CLEANUP(json_freep) json_t *kept = json_pack("{s:O}", "met", met);
	struct err err = ERR_INIT;
	size_t before = json_object_size(met), i;

	for (i = 0; i < p->n_jobs; i++) {
		CLEANUP(freep) char *from = name_of(p->jobs[i].from);
		CLEANUP(freep) char *to = name_of(p->jobs[i].to);

		if (!p->jobs[i].verdict.reached)
			continue;
		(void)json_object_set_new(met, from, json_true());
		(void)json_object_set_new(met, to, json_true());
	}
	if (json_object_size(met) > before && probe_save(p->probe, kept, &err) < 0)
		log_warning("%s; which ports reached each other is not recorded", err.msg);
}

static int run_all(struct pair_plan *p, struct err *err)
{
	CLEANUP(json_freep) json_t *met = recall_met(p);
	const uint64_t now_us = p->engine->ops->now_ns(p->engine) / NSEC_PER_USEC;
	uint64_t left_us = probe_left_us(p->probe);
	int r;

	if (!options_of(p)->connect_only)
		left_us = (uint64_t)((double)left_us * CONNECT_SHARE);
	pair_connect_all(p->jobs, p->n_jobs, now_us + left_us);
	keep_met(p, met);
	if (pair_is_subnet_a_rail(p->jobs, p->n_jobs))
		return err_set(
			err, ENODEV,
			"each port has an IPv4 subnet of its own: within a host, nothing crosses "
			"the wire from one rail to another. Measure rails between hosts (--peer), "
			"or name pairs that should reach each other (--cells)");
	r = emit_connections(p);
	p->n_jobs = pair_leave_apart(p->jobs, p->n_jobs);
	return r == 0 && !options_of(p)->connect_only ? measure_all(p) : r;
}

/* Check user input before the devices, so that mistakes are reported on any host. */
static int check_peer(const struct pair_options *o, char **ret_token, struct err *err)
{
	if (oob_lookup_check(o->listen ? o->listen : o->peer, err) < 0)
		return err_wrap(err, -EINVAL, o->listen ? "--listen" : "--peer");
	return oob_token_read(o->token_file, ret_token, err) < 0 ? -EINVAL : 0;
}

int pair_run(struct probe *probe, struct rdma_engine *engine, struct err *err)
{
	CLEANUP(freep) struct pair_plan *p = xcalloc(1, sizeof(*p));
	CLEANUP(freep) char *token = NULL;
	const struct pair_options *o = probe->options;
	int r = o->listen || o->peer ? check_peer(o, &token, err) : 0;

	if (r < 0)
		return r;
	p->probe = probe;
	p->engine = engine;
	r = pair_plan_make(p, err);
	if (r == 0)
		r = o->listen || o->peer ? pair_peer_run(p, token, err) : run_all(p, err);
	pair_plan_release(p);
	return r;
}
