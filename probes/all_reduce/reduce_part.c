/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/all_reduce/reduce_part.h"

#include <errno.h>
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/all_reduce/reduce.h"
#include "probes/all_reduce/reduce_nccl.h"
#include "probes/coll/coll_data.h"
#include "probes/memory/numa.h"
#include "probes/rnic_pair/pair_gpu.h"

enum { NSEC_PER_USEC = 1000 };

int reduce_say(struct oob *line, const struct reduce_message *m, uint64_t deadline_us,
	       struct err *err)
{
	CLEANUP(freep) char *text = reduce_message_encode(m);

	return oob_send(line, text, strlen(text), deadline_us, err);
}

int reduce_hear(struct oob *line, uint64_t deadline_us, struct reduce_message *ret, struct err *err)
{
	CLEANUP(freep) char *body = NULL;
	size_t length;
	int r = oob_receive(line, deadline_us, &body, &length, err);

	if (r == 0)
		r = reduce_message_decode(body, length, ret, err);
	return r == -EINVAL ? err_wrap(err, r, "%s", line->name) : r;
}

char *reduce_name(const struct reduce_session *s, unsigned rank)
{
	const char *node = s->nodes ? s->nodes[rank] : s->addresses[rank];

	return xasprintf("rank %u (%s)", rank, node);
}

void reduce_shut(struct reduce_session *s)
{
	if (s->ring)
		s->ring->ops->close(s->ring);
	s->ring = NULL;
}

struct coll_op reduce_op(const struct reduce_session *s)
{
	const bool sums = s->engine == REDUCE_NCCL ||
			  s->sides[s->rail].options->memory != PAIR_MEMORY_GPU;

	return (struct coll_op){ .kind = sums ? COLL_ALL_REDUCE : COLL_PASS_ON, .bytes = s->bytes };
}

/* What this rank sent and received through the port. */
static struct coll_ring_flows flows_of(const struct reduce_session *s)
{
	struct coll_ring_flows flows = { .out = s->moved, .in = s->moved };

	if (s->engine == REDUCE_VERBS)
		coll_ring_flows(s->ring, &flows);
	return flows;
}

static char *why_of(const struct reduce_session *s, const struct err *err)
{
	return xasprintf("%s: %.400s", s->node, err->msg);
}

void reduce_open(struct reduce_session *s, uint64_t rail, struct reduce_message *ret)
{
	const struct pair_side *side = &s->sides[rail];
	const struct coll_ring_want want = {
		.n = s->n,
		.rank = s->rank,
		.mtu = s->mtu,
		.depth = s->depth,
		.qps = s->qps,
		.size = s->size,
	};
	struct err err = side->err;
	int r = side->err.code ? -side->err.code : 0;

	reduce_shut(s);
	s->rail = rail;
	s->n_windows = 0;
	s->sent_bytes = s->checks = s->wrong = 0;
	s->sent_s = 0;
	s->moved = (struct rdma_posted){ .bytes = 0 };
	s->guard = (struct reduce_guard){ .begun = false };
	if (s->host)
		numa_go_near(s->host, side->port->numa_node);
	if (r == 0 && s->no_nccl.code)
		r = err_set(&err, s->no_nccl.code, "%s", s->no_nccl.msg);
	if (r == 0 && s->engine == REDUCE_VERBS)
		r = coll_ring_open(side, &want, &s->ring, &err);
	*ret = reduce_message_init(s->ring ? REDUCE_OFFER : REDUCE_READY);
	ret->busy = r == -EBUSY;
	if (s->ring)
		coll_ring_offer(s->ring, &ret->offer);
	else
		ret->why = r < 0 ? why_of(s, &err) : xstrdup("");
}

void reduce_unite(struct reduce_session *s, const char *id, const struct coll_watch *watch,
		  struct reduce_message *ret)
{
	const struct pair_side *side = &s->sides[s->rail];
	struct err err = ERR_INIT;
	int r;

	reduce_shut(s);
	r = s->engine == REDUCE_NCCL && !side->err.code && !s->no_nccl.code && side->gpu
		    ? reduce_nccl_unite(s, id, watch, &err)
		    : err_set(&err, EPROTO, "asked to join a group of NCCL that is not open");
	*ret = reduce_message_init(REDUCE_READY);
	ret->why = r < 0 ? why_of(s, &err) : xstrdup("");
}

void reduce_join(struct reduce_session *s, const struct coll_offer *of_neighbours,
		 struct reduce_message *ret)
{
	struct err err = ERR_INIT;
	int r = s->ring ? coll_ring_connect(s->ring, &of_neighbours->before, &of_neighbours->next,
					    &err)
			: err_set(&err, EPROTO, "asked to join a test that is not open");

	*ret = reduce_message_init(REDUCE_READY);
	ret->why = r < 0 ? why_of(s, &err) : xstrdup("");
}

/* Add `ops` operations of equal duration to the answer. */
static void count(struct reduce_session *s, uint64_t ops, struct reduce_message *ret)
{
	const struct coll_rank *rank = &s->ring->result.ranks[0];
	const struct rdma_posted moved = reduce_nccl_moves(s->bytes, s->n);

	s->moved.requests += ops * moved.requests;
	s->moved.bytes += ops * moved.bytes;

	if (ret->arrived_ns == 0)
		ret->arrived_ns = rank->arrived_ns;
	ret->ended_ns = rank->arrived_ns + ops * (rank->ended_ns - rank->arrived_ns);
	ret->sent_bytes += rank->sent_bytes;
	ret->sent_s += rank->sent_s;
}

static void look_at_sums(struct reduce_session *s, const struct coll_op *op,
			 struct reduce_message *ret, struct err *err)
{
	struct coll_wrong wrong;

	if (coll_check(s->ring, op, s->seed, &wrong, err) < 0)
		return;
	if (s->wrong == 0)
		s->first_wrong = wrong;
	s->checks++;
	s->wrong += wrong.count;
	ret->wrong = wrong.count;
}

/* Keep the result of a window. */
static void keep(struct reduce_session *s, const struct reduce_message *go,
		 const struct reduce_message *done)
{
	if (!go->timed || s->n_windows == REDUCE_WINDOWS)
		return;
	s->window_s[s->n_windows++] = (double)(done->ended_ns - done->arrived_ns) / 1e9;
	s->window_ops = go->ops;
	s->sent_bytes += done->sent_bytes;
	s->sent_s += done->sent_s;
}

/*
 * Run operations one after the other, until one does not end. NCCL gets several at once, so that
 * the GPUs do not wait for the host in between. Errors of coll_run().
 */
static int run_all(struct reduce_session *s, const struct reduce_message *go,
		   const struct coll_watch *watch, struct reduce_message *ret, struct err *err)
{
	const struct coll_op op = reduce_op(s);
	struct coll *c = s->ring;
	const uint64_t deadline_us = c->ops->now_ns(c) / NSEC_PER_USEC + go->within_us;
	uint64_t done, some = 1;
	int r = go->check ? coll_fill(c, &op, s->seed, err) : 0;

	for (done = 0; r == 0 && done < go->ops; done += some) {
		if (s->engine == REDUCE_NCCL) {
			some = MIN(go->ops - done, (uint64_t)COLL_REPEAT_MAX);
			coll_repeat(c, (unsigned)some);
		}
		r = coll_run(c, &op, deadline_us, watch, err);
		if (r < 0 || c->result.state != COLL_DONE)
			break;
		count(s, some, ret);
	}
	return r;
}

void reduce_go(struct reduce_session *s, const struct reduce_message *go,
	       const struct coll_watch *watch, struct reduce_message *ret)
{
	const struct coll_op op = reduce_op(s);
	struct coll_ring_flows flows;
	struct err err = ERR_INIT;
	struct coll *c = s->ring;
	int r;

	*ret = reduce_message_init(REDUCE_DONE);
	ret->state = COLL_FAILED;
	r = c ? run_all(s, go, watch, ret, &err)
	      : err_set(&err, EPROTO, "asked to continue a test that is not open");
	if (r < 0 || !c) {
		ret->why = why_of(s, &err);
		return;
	}
	ret->state = c->result.state;
	if (ret->state == COLL_DONE && go->check)
		look_at_sums(s, &op, ret, &err);
	else if (ret->state == COLL_DONE)
		keep(s, go, ret);
	/* Between operations, when the ring sends nothing through the port. */
	if (ret->state == COLL_DONE && (go->timed || !s->guard.begun)) {
		flows = flows_of(s);
		reduce_guard_look(&s->guard, &s->sides[s->rail], &flows);
	}
	ret->resends = reduce_guard_resends(&s->guard);
	ret->suspect = c->result.suspect < 0 ? REDUCE_NOBODY : (uint64_t)c->result.suspect;
	ret->why = xstrdup(c->result.why);
}

void reduce_see(struct reduce_session *s, const struct reduce_message *whose,
		struct reduce_message *ret)
{
	const unsigned before = (s->rank + s->n - 1) % s->n;
	struct traffic_own out = { .window = (uint64_t)s->depth * s->qps }, in;
	char *words = NULL;

	*ret = reduce_message_init(REDUCE_SEEN);
	if (s->ring) {
		out.mtu = s->engine == REDUCE_VERBS ? coll_ring_mtu(s->ring)
						    : s->sides[s->rail].port->mtu;
		in = out;
		in.resends = (uint64_t)whose->again.v[before];
		words = reduce_guard_words(&s->guard, &s->sides[s->rail], &out, &in);
	}
	ret->why = words ? words : xstrdup("");
}
