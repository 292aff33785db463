/* SPDX-License-Identifier: Apache-2.0 */
/* One operation of all ranks, put on their streams in one group of NCCL's calls. */
#include "probes/coll/nccl_group.h"

static int put_move(struct nccl_group *g, const struct coll_move *m, struct err *err)
{
	struct nccl_rank *from = &g->ranks[m->from], *to = &g->ranks[m->to];
	uint64_t block = g->op.bytes / g->coll.n;
	size_t count = block / sizeof(float);
	int r;

	r = nccl_check(g, from,
		       g->call.send((const char *)from->out.ptr + m->to * block, count, NCCL_FLOAT32,
				    (int)m->to, from->comm, g->ops->stream_handle(from->stream)),
		       "cannot send", err);
	if (r == 0)
		r = nccl_check(g, to,
			       g->call.receive((char *)to->in.ptr + m->from * block, count,
					       NCCL_FLOAT32, (int)m->from, to->comm,
					       g->ops->stream_handle(to->stream)),
			       "cannot receive", err);
	return r;
}

static int put_moves(struct nccl_group *g, struct err *err)
{
	struct coll_move m;
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && i < g->coll.n_moves; i++)
		r = put_move(g, &g->coll.moves[i], err);
	if (g->coll.n_moves)
		return r;
	for (m.from = 0; m.from < g->coll.n; m.from++) {
		for (m.to = 0; r == 0 && m.to < g->coll.n; m.to++)
			r = put_move(g, &m, err);
	}
	return r;
}

static unsigned put_rank(struct nccl_group *g, struct nccl_rank *rank)
{
	struct CUstream_st *stream = g->ops->stream_handle(rank->stream);
	size_t count = g->op.bytes / sizeof(float);

	if (g->op.kind == COLL_ALL_REDUCE)
		return g->call.all_reduce(rank->out.ptr, g->apart ? rank->in.ptr : rank->out.ptr,
					  count, NCCL_FLOAT32, NCCL_SUM, rank->comm, stream);
	return g->call.all_to_all(rank->out.ptr, rank->in.ptr, count / g->coll.n, NCCL_FLOAT32,
				  rank->comm, stream);
}

static int put_ranks(struct nccl_group *g, struct err *err)
{
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && i < g->coll.n; i++) {
		r = g->ops->device_enter(g->accel, i, err);
		if (r == 0)
			r = nccl_check(g, &g->ranks[i], put_rank(g, &g->ranks[i]),
				       "cannot begin the operation", err);
	}
	return r;
}

int nccl_launch(struct nccl_group *g, struct err *err)
{
	bool moves = g->op.kind == COLL_ALL_TO_ALL && (g->coll.n_moves || !g->call.all_to_all);
	struct nccl_rank *first = &g->ranks[0];
	int r = nccl_check(g, first, g->call.group_start(), "cannot begin a group", err);
	unsigned result;

	if (r < 0)
		return r;
	r = moves ? put_moves(g, err) : put_ranks(g, err);
	result = g->call.group_end();
	if (r == 0)
		r = nccl_check(g, first, result, "cannot end a group", err);
	g->launching = result == NCCL_IN_PROGRESS;
	g->left--;
	return r;
}
