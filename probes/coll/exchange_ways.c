/* SPDX-License-Identifier: Apache-2.0 */
/* What goes over the ways of an exchange, and which of them do not work. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/coll/exchange_group.h"
#include "probes/rdma/words.h"
#include "probes/rnic_pair/pair_side.h"

enum {
	PIECE_MIN = 16 * 1024,
	PIECE_MAX = 512 * 1024,
	PIECES_OF_BLOCK = 8,
	NAME_SIZE = RDMA_NAME_SIZE + 16,
	WAYS_NAMED = 3,
};

/* After the first way that failed: the others of the same port fail a little later. */
#define FAILURES_NS UINT64_C(1000000000)

static const struct rdma_ops *ops_of(const struct exchange *g)
{
	return g->sides[0].engine->ops;
}

static uint64_t now_ns(struct exchange *g)
{
	return ops_of(g)->now_ns(g->sides[0].engine);
}

void exchange_cut(struct exchange *g, uint64_t block)
{
	g->block = block;
	g->piece = MIN(MAX(block / PIECES_OF_BLOCK, (uint64_t)PIECE_MIN), (uint64_t)PIECE_MAX);
	g->pieces = (block + g->piece - 1) / g->piece;
}

/* --- sending --- */

/* The next piece to `peer`, and after the last one the word that the block is there. */
static int post_piece(struct exchange *g, unsigned i, unsigned peer, struct err *err)
{
	const struct pair_side *side = &g->sides[i];
	struct way *w = exchange_way(g, i, peer);
	const uint64_t within = w->posted % g->pieces * g->piece;
	const bool last = w->posted + 1 == w->total;
	const struct rdma_work work[EXCHANGE_WORK_OF_PIECE] = {
		{ .opcode = RDMA_WRITE,
		  .id = w->posted,
		  .local = (char *)side->source.at + peer * g->block + within,
		  .lkey = side->source.lkey,
		  .length = (uint32_t)MIN(g->piece, g->block - within),
		  .remote = w->lanes.remote + (g->coll.first + i) * g->block + within,
		  .rkey = w->lanes.rkey,
		  .signalled = !last },
		{ .opcode = RDMA_SEND,
		  .id = w->posted,
		  .local = side->source.at,
		  .lkey = side->source.lkey,
		  .length = EXCHANGE_TOLD_BYTES,
		  .signalled = true,
		  .inlined = true },
	};
	int r = ops_of(g)->post(w->lanes.flow.queues[0], work, last ? EXCHANGE_WORK_OF_PIECE : 1,
				err);

	if (r < 0)
		return r;
	w->posted++;
	return 0;
}

/* Each rank begins with the one after it: so that not all begin with the same. */
int exchange_post(struct exchange *g, struct err *err)
{
	const unsigned n = g->coll.n;
	unsigned i, step;
	bool posted = true;
	int r = 0;

	while (posted && r == 0) {
		posted = false;
		for (i = 0; r == 0 && i < g->coll.n_here; i++) {
			for (step = 1; r == 0 && step < n; step++) {
				const unsigned peer = (g->coll.first + i + step) % n;
				const struct way *w = exchange_way(g, i, peer);

				if (w->failed || w->posted == w->total ||
				    w->posted - w->sent >= g->depth)
					continue;
				r = post_piece(g, i, peer, err);
				posted = true;
			}
		}
	}
	return r;
}

/* --- what came of it --- */

int exchange_post_receives(struct way *w, unsigned n, struct err *err)
{
	const struct rdma_region *source = &w->lanes.side->source;
	struct rdma_receive receives[RDMA_BATCH_MAX];
	unsigned i;

	for (i = 0; i < MIN(n, (unsigned)RDMA_BATCH_MAX); i++)
		receives[i] = (struct rdma_receive){
			.local = (char *)source->at + source->bytes - EXCHANGE_TOLD_ROOM,
			.lkey = source->lkey,
			.length = EXCHANGE_TOLD_BYTES,
		};
	return w->lanes.side->engine->ops->receive(w->lanes.flow.queues[0], receives,
						   MIN(n, (unsigned)RDMA_BATCH_MAX), err);
}

/* A negative errno when the room for what a peer says cannot be had again. */
static int reap_way(struct exchange *g, struct way *w, struct err *err)
{
	struct rdma_done done[RDMA_BATCH_MAX];
	int n = ops_of(g)->poll(w->lanes.flow.queues[0], done, ARRAY_SIZE(done), err), i, r;
	unsigned told = 0;

	for (i = 0; i < n; i++) {
		if (done[i].status != RDMA_OK && !w->failed) {
			w->failed = true;
			w->why = done[i];
			g->failed_ns = g->failed_ns ? g->failed_ns : now_ns(g);
		}
		if (done[i].status != RDMA_OK)
			continue;
		if (done[i].received)
			told++;
		else
			w->sent++;
	}
	w->told += told;
	r = told && !w->failed ? exchange_post_receives(w, told, err) : 0;
	return r < 0 ? r : n;
}

bool exchange_has_ended(struct exchange *g, unsigned i)
{
	unsigned peer;

	for (peer = 0; peer < g->coll.n; peer++) {
		const struct way *w = exchange_way(g, i, peer);

		if (peer != g->coll.first + i && (w->sent < w->total || (w->awaits && !w->told)))
			return false;
	}
	for (peer = 0; peer < g->coll.n; peer++) {
		struct way *w = exchange_way(g, i, peer);

		if (peer != g->coll.first + i && w->awaits)
			w->told--;
	}
	return true;
}

/* --- which ways do not work --- */

static void name_rank(const struct exchange *g, unsigned rank, char ret[static NAME_SIZE])
{
	const struct rdma_port *port;

	if (rank < g->coll.first || rank - g->coll.first >= g->coll.n_here) {
		(void)snprintf(ret, NAME_SIZE, "rank %u", rank);
		return;
	}
	port = g->sides[rank - g->coll.first].port;
	(void)snprintf(ret, NAME_SIZE, "%s:%u", port->device, port->number);
}

static bool has_failed(const struct way *w)
{
	return w->failed;
}

static bool is_missing(const struct way *w)
{
	return w->sent < w->total;
}

/* What there is of one kind among the ways: how many, the first ones, and whom all have in common. */
struct survey {
	unsigned n;
	uint64_t common; /* ranks */
	const struct way *first;
	char names[WAYS_NAMED * 2 * NAME_SIZE];
};

static void add_name(const struct exchange *g, struct survey *s, unsigned from, unsigned to)
{
	const size_t used = strlen(s->names);
	char a[NAME_SIZE], b[NAME_SIZE];

	name_rank(g, from, a);
	name_rank(g, to, b);
	(void)snprintf(s->names + used, sizeof(s->names) - used, "%s%s>%s", used ? ", " : "", a, b);
}

static struct survey survey(struct exchange *g, bool (*is_one)(const struct way *w))
{
	struct survey s = { .common = UINT64_MAX };
	unsigned i, peer;

	for (i = 0; i < g->coll.n_here; i++) {
		for (peer = 0; peer < g->coll.n; peer++) {
			const struct way *w = exchange_way(g, i, peer);
			const unsigned rank = g->coll.first + i;

			if (peer == rank || !is_one(w))
				continue;
			s.first = s.first ? s.first : w;
			/* NOLINTNEXTLINE(clang-analyzer-core.*): ranks are below COLL_RANKS_MAX */
			s.common &= COLL_RANK_BIT(rank) | COLL_RANK_BIT(peer);
			if (s.n++ < WAYS_NAMED)
				add_name(g, &s, rank, peer);
		}
	}
	return s;
}

/* One rank, when all of several ways begin or end there. */
static void accuse(struct exchange *g, const struct survey *s)
{
	const uint64_t common = s->n > 1 ? s->common : 0;
	struct coll_result *result = &g->coll.result;
	const bool one = common && (common & (common - 1)) == 0;

	result->suspect = one ? __builtin_ctzll(common) : COLL_NOBODY;
	result->suspects = one ? common : 0;
}

static void tell(struct exchange *g, const struct survey *s, const char *what)
{
	struct coll_result *result = &g->coll.result;
	CLEANUP(freep) char *more = NULL;
	CLEANUP(freep) char *why = NULL;
	char name[NAME_SIZE] = "";

	accuse(g, s);
	more = s->n > WAYS_NAMED ? xasprintf(" and %u more", s->n - WAYS_NAMED) : xstrdup("");
	if (result->suspect != COLL_NOBODY)
		name_rank(g, (unsigned)result->suspect, name);
	why = xasprintf("what goes %s%s %s%s%s", s->names, more, what,
			name[0] ? "; all of it from or to " : "", name);
	(void)snprintf(result->why, sizeof(result->why), "%.*s", COLL_WHY_SIZE - 1, why);
}

static void tell_failed(struct exchange *g)
{
	const struct survey s = survey(g, has_failed);
	CLEANUP(freep) char *words = NULL;
	CLEANUP(freep) char *what = NULL;

	if (!s.first)
		return;
	words = rdma_done_words(&s.first->why);
	what = xasprintf("does not get there: %s", words);
	g->error = rdma_status_is_sick(s.first->why.status) ? -EIO : -EINVAL;
	g->coll.result.state = COLL_FAILED;
	tell(g, &s, what);
}

void exchange_tell_late(struct exchange *g)
{
	const struct survey s = survey(g, is_missing);

	g->error = -ETIMEDOUT;
	if (s.n > 0)
		tell(g, &s, "had not arrived when its time was up");
}

int exchange_reap(struct exchange *g, struct err *err)
{
	unsigned i, peer;
	int news = 0;

	for (i = 0; i < g->coll.n_here; i++) {
		for (peer = 0; peer < g->coll.n; peer++) {
			int n;

			if (peer == g->coll.first + i)
				continue;
			n = reap_way(g, exchange_way(g, i, peer), err);
			if (n < 0)
				return n;
			news += n;
		}
	}
	if (g->failed_ns && now_ns(g) - g->failed_ns >= FAILURES_NS)
		tell_failed(g);
	return news;
}

void exchange_close_ways(struct exchange *g)
{
	size_t i;

	for (i = 0; i < (size_t)g->coll.n_here * g->coll.n; i++)
		pair_lanes_close(&g->ways[i].lanes);
}
