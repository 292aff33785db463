/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/coll/nccl.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/coll/nccl_comm.h"
#include "probes/coll/nccl_hang.h"
#include "probes/coll/nccl_load.h"

enum { NSEC_PER_USEC = 1000, COPY_US = 5000000 /* longest wait for copies on a GPU */ };

static uint64_t now_us(const struct nccl_group *g)
{
	return g->ops->now_us(g->accel);
}

static uint64_t nccl_now_ns(struct coll *c)
{
	return now_us(nccl_group_of(c)) * NSEC_PER_USEC;
}

/* --- data --- */

static int nccl_put(struct coll *c, unsigned rank, uint64_t offset, const void *from,
		    uint64_t bytes, struct err *err)
{
	struct nccl_group *g = nccl_group_of(c);

	return g->ops->upload(&g->ranks[rank - c->first].out, offset, from, bytes, err);
}

static int nccl_get(struct coll *c, unsigned rank, uint64_t offset, void *to, uint64_t bytes,
		    struct err *err)
{
	struct nccl_group *g = nccl_group_of(c);
	struct nccl_rank *r = &g->ranks[rank - c->first];
	bool in_place = g->op.kind == COLL_ALL_REDUCE && !g->apart;

	return g->ops->download(to, in_place ? &r->out : &r->in, offset, bytes, err);
}

static int wait_copies(struct nccl_group *g, struct err *err)
{
	uint64_t deadline_us = now_us(g) + COPY_US;
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && i < g->coll.n; i++)
		r = g->ops->stream_wait(g->ranks[i].stream, deadline_us, err);
	return r;
}

static int nccl_spread(struct coll *c, uint64_t bytes, struct err *err)
{
	struct nccl_group *g = nccl_group_of(c);
	uint64_t filled, more;
	unsigned i;
	int r = 0;

	for (i = 0; i < c->n; i++) {
		struct nccl_rank *rank = &g->ranks[i];

		for (filled = bytes; r == 0 && filled < c->bytes; filled += more) {
			more = MIN(filled, c->bytes - filled);
			r = g->ops->copy(rank->stream, (struct accel_at){ &rank->out, filled },
					 (struct accel_at){ &rank->out, 0 }, more, err);
		}
	}
	return r < 0 ? r : wait_copies(g, err);
}

/* Fill the receive buffer with the rank's own send data, which is wrong in all other blocks. */
static int nccl_blot(struct coll *c, uint64_t bytes, struct err *err)
{
	struct nccl_group *g = nccl_group_of(c);
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && i < c->n; i++) {
		struct nccl_rank *rank = &g->ranks[i];

		r = g->ops->copy(rank->stream, (struct accel_at){ &rank->in, 0 },
				 (struct accel_at){ &rank->out, 0 }, bytes, err);
	}
	return r < 0 ? r : wait_copies(g, err);
}

/* --- an operation --- */

void nccl_coll_apart(struct coll *c)
{
	nccl_group_of(c)->apart = true;
}

static double nccl_seconds(const struct coll *c, unsigned rank)
{
	return ((const struct nccl_group *)c)->ranks[rank].seconds;
}

static int nccl_error(const struct coll *c)
{
	return ((const struct nccl_group *)c)->error;
}

static void fail(struct nccl_group *g, int error, int rank, const struct err *why)
{
	struct coll_result *result = &g->coll.result;

	g->error = error;
	result->state = COLL_FAILED;
	result->suspect = rank < 0 ? COLL_NOBODY : (int)g->coll.first + rank;
	(void)snprintf(result->why, sizeof(result->why), "%.*s", COLL_WHY_SIZE - 1, why->msg);
}

static int check_op(const struct coll *c, const struct coll_op *op, struct err *err)
{
	if (op->kind != COLL_ALL_REDUCE && !(op->kind == COLL_ALL_TO_ALL && c->ops->whole))
		return err_set(err, EOPNOTSUPP, "no operation %d with NCCL", op->kind);
	if (op->bytes == 0 || op->bytes > c->bytes || op->bytes % (sizeof(float) * c->n))
		return err_set(err, EINVAL, "%llu bytes: not a multiple of %zu up to %llu",
			       (unsigned long long)op->bytes, sizeof(float) * c->n,
			       (unsigned long long)c->bytes);
	return 0;
}

static int nccl_start(struct coll *c, const struct coll_op *op, struct err *err)
{
	struct nccl_group *g = nccl_group_of(c);
	unsigned i;
	int r = check_op(c, op, err);

	if (r < 0)
		return r;
	g->op = *op;
	g->left = c->times;
	g->launching = g->marked = false;
	g->stepped = 0;
	g->held = 0;
	for (i = 0; i < c->n_here; i++) {
		g->ranks[i].in_it = c->n_moves == 0;
		g->ranks[i].seconds = (double)NAN;
	}
	for (i = 0; i < c->n_moves; i++)
		g->ranks[c->moves[i].from].in_it = g->ranks[c->moves[i].to].in_it = true;
	g->begun_ns = nccl_now_ns(c);
	for (i = 0; r == 0 && i < c->n_here; i++) {
		if (g->ranks[i].in_it)
			r = g->ops->event_record(g->ranks[i].from, g->ranks[i].stream, err);
	}
	return r;
}

static int mark(struct nccl_group *g, struct err *err)
{
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && i < g->coll.n_here; i++) {
		if (g->ranks[i].in_it)
			r = g->ops->event_record(g->ranks[i].to, g->ranks[i].stream, err);
	}
	g->marked = r == 0;
	return r;
}

/* Record the event after the latest repetition, but only once NCCL has enqueued that. */
static int step(struct nccl_group *g, struct err *err)
{
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && i < g->coll.n_here; i++) {
		struct nccl_rank *rank = &g->ranks[i];

		if (rank->in_it)
			r = g->ops->event_record(rank->steps[g->stepped], rank->stream, err);
	}
	g->stepped++;
	return r;
}

/* Enqueue what can be. 1 if anything was, 0 if NCCL is not ready, or a negative errno. */
static int advance(struct nccl_group *g, int *ret_rank, struct err *err)
{
	int r = nccl_comms_ready(g, ret_rank, err);

	if (r < 0 || (g->launching && r == 0))
		return r;
	g->launching = false;
	if (g->marked)
		return 0;
	r = g->stepped < g->coll.times - g->left ? step(g, err) : 0;
	if (r == 0)
		r = g->left ? nccl_launch(g, err) : mark(g, err);
	return r < 0 ? r : 1;
}

/* Returns 1 if there is news of the rank. Its times are by its GPU's clock, from the start on. */
static int look(struct nccl_group *g, unsigned i, struct err *err)
{
	struct nccl_rank *rank = &g->ranks[i];
	struct coll_rank *told = &g->coll.result.ranks[i];
	int r = 0;

	if (!rank->in_it || told->ended) {
		if (!told->ended)
			*told = (struct coll_rank){ true, true, g->begun_ns, g->begun_ns, 0, 0 };
		return 0;
	}
	if (!told->arrived) {
		r = nccl_passed(g, rank->from, err);
		told->arrived = r > 0;
		told->arrived_ns = g->begun_ns;
	}
	if (!told->arrived || !g->marked || r < 0)
		return r;
	r = nccl_passed(g, rank->to, err);
	if (r <= 0)
		return r;
	r = g->ops->event_seconds(rank->from, rank->to, &rank->seconds, err);
	if (r < 0)
		return r;
	rank->seconds /= g->coll.times;
	told->ended = true;
	told->ended_ns = g->begun_ns + (uint64_t)llround(rank->seconds * 1e9);
	return 1;
}

static int nccl_turn(struct coll *c, struct err *err)
{
	struct nccl_group *g = nccl_group_of(c);
	struct err why = ERR_INIT;
	int rank = COLL_NOBODY, r = advance(g, &rank, &why), news = r > 0;
	unsigned i, n_ended = 0;

	(void)err;
	for (i = 0; r >= 0 && i < c->n_here; i++) {
		r = look(g, i, &why);
		rank = (int)i;
		news |= r > 0;
		n_ended += c->result.ranks[i].ended;
	}
	if (r < 0)
		fail(g, r, rank, &why);
	else if (n_ended == c->n_here)
		c->result.state = COLL_DONE;
	return r < 0 || news;
}

static int nccl_wait(struct coll *c, uint64_t deadline_us, struct err *err)
{
	struct nccl_group *g = nccl_group_of(c);

	nccl_pause(g, deadline_us, g->marked ? NCCL_POLL_US : NCCL_POLL_LAUNCH_US);
	return now_us(g) < deadline_us ? 0 : err_set(err, ETIME, "time ran out");
}

/* --- ending --- */

/* With a single rank here, all we can tell is that its own GPU did not arrive. */
static void look_here(struct nccl_group *g)
{
	struct coll_result *result = &g->coll.result;

	if (result->ranks[0].arrived)
		return;
	result->suspect = (int)g->coll.first;
	(void)snprintf(result->why, sizeof(result->why), "%s did not arrive", g->ranks[0].subject);
}

static void nccl_abort(struct coll *c)
{
	struct nccl_group *g = nccl_group_of(c);

	const bool late = c->result.state == COLL_LATE;

	if (late && c->ops->whole)
		nccl_hang_look(g);
	else if (late)
		look_here(g);
	nccl_comms_abort(g);
	if (late && c->ops->whole)
		nccl_hang_conclude(g);
}

static void nccl_close(struct coll *c)
{
	struct nccl_group *g = nccl_group_of(c);
	unsigned i, step;

	nccl_comms_close(g);
	for (i = 0; i < c->n_here; i++) {
		struct nccl_rank *rank = &g->ranks[i];

		g->ops->stream_free(rank->stream);
		g->ops->event_free(rank->from);
		g->ops->event_free(rank->to);
		for (step = 0; step < COLL_REPEAT_MAX; step++)
			g->ops->event_free(rank->steps[step]);
		if (rank->out.ptr && !g->borrowed)
			g->ops->region_free(&rank->out);
		if (rank->in.ptr && !g->borrowed)
			g->ops->region_free(&rank->in);
	}
	free(g);
}

static const struct coll_whole_ops nccl_whole = {
	.seconds = nccl_seconds,
	.spread = nccl_spread,
	.blot = nccl_blot,
	.error = nccl_error,
};

static const struct coll_ops nccl_ops = {
	.name = "nccl",
	.put = nccl_put,
	.get = nccl_get,
	.start = nccl_start,
	.turn = nccl_turn,
	.wait = nccl_wait,
	.abort = nccl_abort,
	.close = nccl_close,
	.now_ns = nccl_now_ns,
	.whole = &nccl_whole,
};

/* For one rank of several processes. */
static const struct coll_ops nccl_host_ops = {
	.name = "nccl",
	.put = nccl_put,
	.get = nccl_get,
	.start = nccl_start,
	.turn = nccl_turn,
	.wait = nccl_wait,
	.abort = nccl_abort,
	.close = nccl_close,
	.now_ns = nccl_now_ns,
};

/* --- opening --- */

/* Everything but the buffers. */
static int open_rank(struct nccl_group *g, struct nccl_rank *rank, unsigned device, struct err *err)
{
	struct accel_device_info info;
	unsigned step;
	int r = g->ops->device_info(g->accel, device, &info, err);

	if (r < 0)
		return r;
	rank->device = device;
	(void)snprintf(rank->subject, sizeof(rank->subject), "%s", info.subject);
	(void)snprintf(rank->pci, sizeof(rank->pci), "%s", info.pci);
	r = g->ops->stream_new(g->accel, device, &rank->stream, err);
	if (r == 0)
		r = g->ops->event_new(g->accel, device, &rank->from, err);
	if (r == 0)
		r = g->ops->event_new(g->accel, device, &rank->to, err);
	for (step = 0; r == 0 && step < COLL_REPEAT_MAX; step++)
		r = g->ops->event_new(g->accel, device, &rank->steps[step], err);
	return r;
}

static int take_buffers(struct nccl_group *g, struct nccl_rank *rank, struct err *err)
{
	const struct accel_memory memory = { ACCEL_DEVICE, -1, g->coll.bytes };
	int r = g->ops->region_new(g->accel, rank->device, &memory, &rank->out, err);

	return r < 0 ? r : g->ops->region_new(g->accel, rank->device, &memory, &rank->in, err);
}

/* Add the communicators; after a failure (here or in `r`), tear everything down. */
static int finish(struct nccl_group *g, int r, uint64_t deadline_us, const struct coll_watch *watch,
		  struct coll **ret, struct err *err)
{
	if (r == 0)
		r = nccl_comms_open(g, deadline_us, watch, err);
	if (r < 0) {
		nccl_comms_abort(g);
		nccl_close(&g->coll);
	} else {
		*ret = &g->coll;
	}
	return r;
}

int nccl_id_new(const struct nccl_library *library, nccl_id *ret, struct err *err)
{
	const unsigned result = library->call.get_id(ret);

	return result == NCCL_OK ? 0
				 : err_set(err, EPROTO, "NCCL cannot begin: %s",
					   library->call.error_string(result));
}

int nccl_host_new(const struct nccl_host *host, struct coll **ret, struct err *err)
{
	struct nccl_group *g;

	if (host->n < 2 || host->n > COLL_RANKS_MAX || host->rank >= host->n || host->bytes == 0 ||
	    host->bytes % (sizeof(float) * host->n) ||
	    host->bytes > MIN(host->out->size, host->in->size))
		return err_set(err, EINVAL, "%llu bytes for rank %u of %u",
			       (unsigned long long)host->bytes, host->rank, host->n);
	g = xcalloc(1, sizeof(*g));
	g->coll = (struct coll){ .ops = &nccl_host_ops,
				 .n = host->n,
				 .first = host->rank,
				 .n_here = 1,
				 .bytes = host->bytes,
				 .times = 1 };
	g->call = host->library->call;
	g->accel = host->out->accel;
	g->ops = g->accel->ops;
	g->id = *host->id;
	g->apart = g->borrowed = true;
	g->ranks[0].out = *host->out;
	g->ranks[0].in = *host->in;
	return finish(g, open_rank(g, &g->ranks[0], host->out->device, err), host->deadline_us,
		      host->watch, ret, err);
}

int nccl_coll_new(const struct nccl_setup *setup, struct coll **ret, struct err *err)
{
	struct nccl_group *g;
	unsigned i;
	int r = 0;

	if (setup->n < 2 || setup->n > COLL_RANKS_MAX || setup->bytes % (sizeof(float) * setup->n))
		return err_set(err, EINVAL, "%llu bytes on each of %u GPUs",
			       (unsigned long long)setup->bytes, setup->n);
	g = xcalloc(1, sizeof(*g));
	g->coll = (struct coll){ .ops = &nccl_ops,
				 .n = setup->n,
				 .n_here = setup->n,
				 .bytes = setup->bytes,
				 .times = 1 };
	g->call = setup->library->call;
	g->ops = setup->accel->ops;
	g->accel = setup->accel;
	r = nccl_id_new(setup->library, &g->id, err);
	for (i = 0; r == 0 && i < setup->n; i++) {
		r = open_rank(g, &g->ranks[i], i, err);
		if (r == 0)
			r = take_buffers(g, &g->ranks[i], err);
	}
	return finish(g, r, setup->deadline_us, NULL, ret, err);
}
