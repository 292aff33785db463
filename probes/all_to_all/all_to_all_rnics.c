/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/all_to_all/all_to_all_rnics.h"

/* All RDMA ports of the host over the fabric, on host memory: without GPUs, and in guests. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/all_to_all/all_to_all.h"
#include "probes/all_to_all/all_to_all_run.h"
#include "probes/coll/verbs_exchange.h"
#include "probes/rdma/gid.h"
#include "probes/rdma/port_guard.h"
#include "probes/rdma/ports.h"
#include "probes/rnic_pair/pair_plan.h"
#include "probes/rnic_state/nic.h"

/* The port counters and our own totals at the start. */
struct guard {
	struct traffic before[PAIR_PORTS_MAX];
	struct rdma_posted posted[PAIR_PORTS_MAX][PAIR_PORTS_MAX]; /* by sender and receiver */
};

static const struct pair_side *side_of(const struct all_to_all *t, unsigned i)
{
	return &t->plan->ports->sides[i];
}

static json_t *params(const struct all_to_all *t, uint64_t bytes)
{
	const struct pair_side *side = side_of(t, 0);

	json_t *params = json_pack(
		"{s:s, s:I, s:I, s:i, s:i, s:s, s:s}", "engine", "verbs", "ranks", (json_int_t)t->n,
		"bytes", (json_int_t)bytes, "depth", (int)t->plan->depth, "mtu", (int)t->plan->mtu,
		"gid", side->gid.index < 0 ? "none" : gid_type_names[side->gid.gid.type], "wait",
		side->wait == FLOW_SPIN ? "spin" : "events");

	port_params(side->port, params);
	rdma_service_params(&side->options->service, 0, params);
	return params;
}

/* Name the pair as rnic-pair does, because it uses the same path. */
static void place(const struct all_to_all *t, const struct coll_move *m, struct sample *s)
{
	const struct pair_plan *p = t->plan->ports;
	const struct pair_end from = pair_end_of(side_of(t, m->from));
	const struct pair_end to = pair_end_of(side_of(t, m->to));
	CLEANUP(sample_release)
	struct sample like =
		pair_sample(&from, &to, PAIR_WRITE_BW, p->has_topology ? &p->topology : NULL);

	s->from = TAKE(like.from);
	s->to = TAKE(like.to);
	s->locality = TAKE(like.locality);
	s->path = TAKE(like.path);
	s->code = TAKE(like.code);
}

/* --- foreign traffic, and the state of the ports --- */

static bool is_watched(const struct all_to_all *t)
{
	const struct rdma_ops *ops = t->plan->ports->engine->ops;

	return !ops->hollow && ops->posted;
}

static void read_posted(const struct all_to_all *t, struct guard *g)
{
	const struct rdma_ops *ops = t->plan->ports->engine->ops;
	unsigned i, j;

	for (i = 0; i < t->n; i++) {
		for (j = 0; j < t->n; j++) {
			const struct pair_lanes *lanes =
				i == j ? NULL : coll_exchange_lanes(t->coll, i, j);

			if (lanes && lanes->flow.n_queues)
				g->posted[i][j] = ops->posted(lanes->flow.queues[0]);
		}
	}
}

static void begin(struct all_to_all *t)
{
	struct guard *g;
	unsigned i;

	if (!is_watched(t))
		return;
	free(t->guard);
	t->guard = g = xcalloc(1, sizeof(*g));
	for (i = 0; i < t->n; i++)
		traffic_read_fresh(side_of(t, i)->port, &nic_kernel, &g->before[i]);
	read_posted(t, g);
}

/* Add our own traffic over a connection since then. */
static void add_own(const struct guard *before, const struct guard *now, unsigned from, unsigned to,
		    struct traffic_own *own)
{
	const struct rdma_posted *was = &before->posted[from][to], *is = &now->posted[from][to];
	const uint64_t requests = is->requests - was->requests, bytes = is->bytes - was->bytes;
	const uint64_t all = own->requests * own->size + bytes;

	own->requests += requests;
	own->size = own->requests ? (uint32_t)(all / own->requests) : 0;
}

static bool is_foreign(const struct all_to_all *t, const struct guard *now, unsigned i,
		       struct traffic_finding *ret)
{
	const struct guard *before = t->guard;
	const struct rdma_port *port = side_of(t, i)->port;
	struct traffic_own out = { .others = port_has_others(port),
				   .mtu = t->plan->mtu,
				   .window = (uint64_t)t->plan->depth * (t->n - 1) };
	struct traffic_own in = out;
	unsigned j;

	for (j = 0; j < t->n; j++) {
		uint64_t resends = 0;

		if (j == i)
			continue;
		add_own(before, now, i, j, &out);
		add_own(before, now, j, i, &in);
		(void)traffic_growth(&before->before[j], &now->before[j], TRAFFIC_RETRIES, &resends);
		in.resends += resends;
	}
	traffic_judge_ways(&before->before[i], &now->before[i], &out, &in, port->bytes_per_s, ret);
	return ret->foreign;
}

/* A port that is gone explains everything else. */
static bool explain(const struct all_to_all *t, bool failed, struct sample *s)
{
	unsigned i;

	for (i = 0; i < t->n; i++) {
		const struct pair_side *side = side_of(t, i);
		struct rdma_scene scene = { .device = side->port->device,
					    .port = side->port->number,
					    .failed = { .status = failed ? RDMA_RETRY_EXCEEDED
									 : RDMA_OK } };

		port_look(side->engine, side->device, side->port, &scene);
		scene.failed.status = RDMA_OK;
		failed = false; /* it was waited for already */
		if (!rdma_explain(&scene, s))
			continue;
		all_to_all_forget(s);
		return true;
	}
	return false;
}

static void end(struct all_to_all *t, struct sample *s)
{
	const bool failed = s->state != SAMPLE_MEASURED || s->ok == TRI_NO;
	CLEANUP(freep) struct guard *now = NULL;
	struct traffic_finding finding;
	unsigned i;

	if (!is_watched(t) || !t->guard || explain(t, failed, s) || failed)
		return;
	now = xcalloc(1, sizeof(*now));
	read_posted(t, now);
	for (i = 0; i < t->n; i++)
		traffic_read_fresh(side_of(t, i)->port, &nic_kernel, &now->before[i]);
	for (i = 0; i < t->n; i++) {
		if (!is_foreign(t, now, i, &finding))
			continue;
		s->state = SAMPLE_FOREIGN_TRAFFIC;
		s->ok = TRI_UNKNOWN;
		all_to_all_forget(s);
		free(s->note);
		s->note = xasprintf("%s: %s", t->ends[i].subject, finding.words);
		return;
	}
}

const struct all_to_all_kind all_to_all_rnics = {
	.busbw = "all_to_all.rnic_busbw",
	.size_bw = "all_to_all.rnic_size_bw",
	.pair_bw = "all_to_all.rnic_pair_bw",
	.correct = "all_to_all.rnic_correct",
	.all = "rnics",
	.ends = "RNICs",
	.params = params,
	.place = place,
	.begin = begin,
	.end = end,
};

/* --- set-up --- */

static void take_ends(struct all_to_all *t)
{
	unsigned i;

	t->n = (unsigned)t->plan->ports->n_sides;
	for (i = 0; i < t->n; i++) {
		const struct rdma_port *port = side_of(t, i)->port;

		(void)snprintf(t->ends[i].subject, sizeof(t->ends[i].subject), "%s:%u",
			       port->device, port->number);
		(void)snprintf(t->ends[i].pci, sizeof(t->ends[i].pci), "%.15s", port->pci);
	}
}

/* A port that is not ready keeps all from running. Returns 0 if every port is ready. */
static int find_unready(struct all_to_all *t)
{
	unsigned i;

	for (i = 0; i < t->n; i++) {
		const struct pair_side *side = side_of(t, i);

		if (!side->err.code)
			continue;
		if (side->err.code != EBUSY)
			return all_to_all_tell_failure(t, -side->err.code, side->err.msg) ?: 1;
		(void)snprintf(t->busy, sizeof(t->busy), "%.*s", (int)sizeof(t->busy) - 1,
			       side->err.msg);
		return all_to_all_tell_busy(t) ?: 1;
	}
	return 0;
}

static int open_group(struct all_to_all *t, struct err *err)
{
	const struct coll_exchange_want want = {
		.n = t->n, .n_here = t->n, .mtu = t->plan->mtu, .depth = t->plan->depth
	};
	int r = coll_exchange_open(t->plan->ports->sides, &want, &t->coll, err);

	if (r < 0)
		return r;
	t->plan->mtu = coll_exchange_mtu(t->coll);
	t->bytes = MIN(t->plan->size, t->coll->bytes) / (16 * t->n) * 16 * t->n;
	return 0;
}

int all_to_all_run_rnics(struct all_to_all_plan *plan, struct err *err)
{
	CLEANUP(all_to_all_release)
	struct all_to_all t = { .plan = plan, .total = sample_init() };
	struct err why = ERR_INIT;
	int r;

	take_ends(&t);
	if (t.n < 2)
		return err_set(
			err, ENODEV,
			"an all-to-all needs at least two active RDMA ports, and there is %u", t.n);
	r = find_unready(&t);
	if (r == 0)
		r = open_group(&t, &why) < 0 ? all_to_all_tell_failure(&t, -EPROTO, why.msg)
					     : all_to_all_measure(&t);
	return r < 0 ? err_errno(err, -r, "cannot print samples") : 0;
}
