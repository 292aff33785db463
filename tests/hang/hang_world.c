/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/hang/hang_world.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"

enum { TO_NEXT, TO_PREV, LAYERS = 2, AHEAD_MIN = 6, AHEAD_MAX = 40, BLIND_MAX = 16 };
enum { FAULT_FROM = 60, FAULT_SPAN = 400, SMALL = 16, LARGE = 8192 * 5120 };

const char *const world_fault_names[WORLD_FAULTS + 1] = { "host-stalled", "own-gpu-stopped",
							  "mismatch",	  "fabric",
							  "killed",	  NULL };
const char *const world_kind_names[WORLD_KINDS] = {
	"all_reduce", "_all_gather_base", "_reduce_scatter_base", "all_to_all", "broadcast", "send",
	"recv"
};

uint64_t world_random(struct world *w, uint64_t n)
{
	uint64_t z = w->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (z ^ (z >> 31)) % n;
}

/* --- the layout ------------------------------------------------------------------ */

static size_t rank_at(const struct world *w, size_t pp, size_t dp, size_t tp)
{
	return (pp * w->dp + dp) * w->tp + tp;
}

static void join(struct world *w, const char *desc, const size_t *ranks, size_t n)
{
	struct world_group *group = &w->groups[w->n_groups];
	struct world_rank *rank;
	size_t i;

	group->desc = desc;
	for (i = 0; i < n; i++) {
		group->ranks[group->size++] = (uint32_t)ranks[i];
		rank = &w->ranks[ranks[i]];
		rank->groups[rank->n_groups++] = (uint32_t)w->n_groups;
	}
	w->n_groups++;
}

/* Groups in the order of the slots: 0 world, 1 dp, 2 tp, 3 pp, 4 stage, 5 alone. */
enum { SLOT_WORLD, SLOT_DP, SLOT_TP, SLOT_PP, SLOT_STAGE };

static void lay_out(struct world *w)
{
	size_t all[WORLD_RANKS_MAX], n = w->n_ranks, i, k, m;

	for (i = 0; i < n; i++)
		all[i] = i;
	join(w, "default_pg", all, n);
	for (i = 0; i < w->pp; i++)
		for (k = 0; k < w->tp; k++) {
			for (m = 0; m < w->dp; m++)
				all[m] = rank_at(w, i, m, k);
			join(w, "DATA_PARALLEL_GROUP_WITH_CP", all, w->dp);
		}
	for (i = 0; i < w->pp * w->dp; i++) {
		for (k = 0; k < w->tp; k++)
			all[k] = i * w->tp + k;
		join(w, "TENSOR_MODEL_PARALLEL_GROUP", all, w->tp);
	}
	for (i = 0; i < w->dp * w->tp; i++) {
		for (k = 0; k < w->pp; k++)
			all[k] = k * w->dp * w->tp + i;
		join(w, "PIPELINE_MODEL_PARALLEL_GROUP", all, w->pp);
	}
	for (i = 0; i < w->pp; i++) {
		for (k = 0; k < w->dp * w->tp; k++)
			all[k] = i * w->dp * w->tp + k;
		join(w, "EXPERT_MODEL_PARALLEL_GROUP", all, w->dp * w->tp);
	}
	for (i = 0; i < n && w->named_alone; i++)
		join(w, "EXPERT_DATA_PARALLEL_GROUP", &i, 1);
}

/* --- the operations of a step --------------------------------------------------------- */

static void add(struct world_rank *rank, enum world_kind kind, size_t slot, int64_t count,
		size_t peer, bool async)
{
	rank->step[rank->n_step++] = (struct world_op){
		.kind = (uint8_t)kind,
		.slot = (uint8_t)slot,
		.peer = (uint8_t)peer,
		.async = async,
		.count = count,
	};
}

static void add_layers(struct world_rank *rank, bool broadcasts)
{
	size_t i;

	if (broadcasts) {
		add(rank, WORLD_BROADCAST, SLOT_TP, SMALL, 0, false);
		add(rank, WORLD_BROADCAST, SLOT_TP, SMALL, 0, false);
	}
	for (i = 0; i < LAYERS; i++) {
		add(rank, WORLD_ALL_GATHER, SLOT_TP, LARGE, 0, false);
		add(rank, WORLD_ALL_TO_ALL, SLOT_STAGE, LARGE, 0, false);
		add(rank, WORLD_ALL_TO_ALL, SLOT_STAGE, SMALL, 0, false);
		add(rank, WORLD_REDUCE_SCATTER, SLOT_TP, LARGE, 0, false);
	}
}

static void write_program(struct world *w, size_t stage, struct world_rank *rank, size_t micro,
			  bool async)
{
	bool last = stage + 1 == w->pp;
	size_t i;

	for (i = 0; i < micro; i++) {
		if (stage > 0)
			add(rank, WORLD_RECV, SLOT_PP, LARGE, stage - 1, false);
		add_layers(rank, true);
		if (!last)
			add(rank, WORLD_SEND, SLOT_PP, LARGE, stage + 1, false);
	}
	for (i = 0; i < micro; i++) {
		if (!last)
			add(rank, WORLD_RECV, SLOT_PP, LARGE, stage + 1, false);
		add_layers(rank, false);
		if (stage > 0)
			add(rank, WORLD_SEND, SLOT_PP, LARGE, stage - 1, false);
	}
	add(rank, WORLD_REDUCE_SCATTER, SLOT_DP, LARGE, 0, async);
	add(rank, WORLD_ALL_GATHER, SLOT_DP, LARGE, 0, async);
	add(rank, WORLD_ALL_REDUCE, SLOT_WORLD, 1, 0, false);
}

/* --- simulation ------------------------------------------------------------------------- */

static size_t place_of(const struct world_group *group, size_t rank)
{
	size_t i = 0;

	while (group->ranks[i] != rank)
		i++;
	return i;
}

/* Returns the index of a group among those of a rank. */
static size_t slot_of(const struct world_rank *rank, uint32_t group)
{
	size_t i = 0;

	while (rank->groups[i] != group)
		i++;
	return i;
}

static bool is_p2p(const struct world_op *op)
{
	return op->kind == WORLD_SEND || op->kind == WORLD_RECV;
}

/* Changes an operation into a mismatched one. */
static void make_wrong(struct world *w, struct world_op *op)
{
	if (world_random(w, 2) == 0)
		op->count += 1;
	else
		op->kind = op->kind == WORLD_ALL_REDUCE ? WORLD_ALL_GATHER : WORLD_ALL_REDUCE;
}

static bool can_be_wrong(const struct world_op *op)
{
	return !is_p2p(op) && op->kind != WORLD_ALL_TO_ALL && op->kind != WORLD_BROADCAST;
}

/* When the first fault strikes, all other faulty ranks get theirs at the same time. */
static void strike(struct world *w)
{
	struct world_rank *rank;
	size_t i, k;

	if (w->struck || w->fault == WORLD_MISMATCH || w->fault == WORLD_FABRIC)
		return;
	for (i = 0; i < w->n_ranks; i++)
		w->struck |= w->ranks[i].faulty && w->ranks[i].n_ops >= w->ranks[i].stops_at;
	for (i = 0; i < w->n_ranks && w->struck; i++) {
		rank = &w->ranks[i];
		if (!rank->faulty)
			continue;
		rank->guilty = true;
		rank->stops_at = rank->n_ops;
		for (k = rank->first; k < rank->n_ops && w->fault != WORLD_HOST_STALLED; k++)
			if (!rank->ops[k].begun && k < rank->stops_at)
				rank->stops_at = k;
	}
}

static bool launch(struct world *w, size_t at)
{
	struct world_rank *rank = &w->ranks[at];
	struct world_op *op = &rank->ops[rank->n_ops];

	if (rank->n_ops >= rank->first + w->ahead || rank->n_ops >= WORLD_OPS_MAX)
		return false;
	if (w->struck && rank->faulty && rank->n_ops >= rank->stops_at &&
	    (w->fault == WORLD_HOST_STALLED || w->fault == WORLD_KILLED))
		return false;
	*op = rank->step[rank->n_ops % rank->n_step];
	if (is_p2p(op)) {
		rank->p2ps[op->slot]++;
		op->seq = rank->p2ps[op->slot];
		op->pair = ++rank->sent[op->kind == WORLD_RECV][op->peer];
	} else {
		op->seq = ++rank->colls[op->slot];
	}
	op->number = rank->colls[op->slot] + rank->p2ps[op->slot];
	if (rank->faulty && w->fault == WORLD_MISMATCH && rank->n_ops >= rank->stops_at &&
	    w->broken_group < 0 && can_be_wrong(op) && w->groups[rank->groups[op->slot]].size > 2) {
		w->broken_group = rank->groups[op->slot];
		w->broken_seq = op->seq;
		rank->guilty = true;
		make_wrong(w, op);
	}
	rank->n_ops++;
	return true;
}

static bool gpu_is_dead(const struct world *w, const struct world_rank *rank, size_t at)
{
	return w->struck && rank->faulty &&
	       (w->fault == WORLD_GPU_STOPPED || w->fault == WORLD_KILLED) && at >= rank->stops_at;
}

/* May the operation begin: have all operations it waits for ended? */
static bool may_begin(const struct world_rank *rank, size_t at)
{
	size_t i;

	for (i = rank->first; i < at; i++)
		if (!rank->ops[i].done &&
		    (!rank->ops[i].async || rank->ops[i].slot == rank->ops[at].slot))
			return false;
	return true;
}

static bool collective_ends(struct world *w, const struct world_group *group, uint32_t id,
			    const struct world_op *op, size_t place)
{
	size_t i, n = op->kind == WORLD_BROADCAST ? place + 1 : group->size;
	const struct world_rank *member;

	if (w->broken_group == id && w->broken_seq <= (int64_t)op->seq)
		return w->partly && w->broken_seq == (int64_t)op->seq && place % 2 == 0;
	for (i = 0; i < n; i++) {
		member = &w->ranks[group->ranks[i]];
		if (member->begun[slot_of(member, id)] < op->seq)
			return false;
	}
	return true;
}

static bool ends(struct world *w, size_t at, const struct world_op *op)
{
	uint32_t id = w->ranks[at].groups[op->slot];
	const struct world_group *group = &w->groups[id];
	size_t place = place_of(group, at);
	const struct world_rank *peer;

	if (!is_p2p(op))
		return collective_ends(w, group, id, op, place);
	peer = &w->ranks[group->ranks[op->peer]];
	return peer->got[op->kind == WORLD_SEND][place] >= op->pair;
}

static bool run_op(struct world *w, size_t at, size_t i)
{
	struct world_rank *rank = &w->ranks[at];
	struct world_op *op = &rank->ops[i];
	bool moved = false;

	if (op->done || gpu_is_dead(w, rank, i))
		return false;
	if (!op->begun) {
		if (!may_begin(rank, i))
			return false;
		op->begun = moved = true;
		if (is_p2p(op))
			rank->got[op->kind == WORLD_RECV][op->peer]++;
		else
			rank->begun[op->slot]++;
	}
	if (ends(w, at, op))
		op->done = moved = true;
	return moved;
}

static bool run_gpu(struct world *w, size_t at)
{
	struct world_rank *rank = &w->ranks[at];
	bool moved = false;
	size_t i;

	for (i = rank->first; i < rank->n_ops; i++)
		moved |= run_op(w, at, i);
	while (rank->first < rank->n_ops && rank->ops[rank->first].done)
		rank->first++;
	return moved;
}

/* The network breaks in the next collective that begins. */
static void break_fabric(struct world *w)
{
	const struct world_rank *rank = &w->ranks[world_random(w, w->n_ranks)];
	const struct world_op *op = rank->n_ops > 0 ? &rank->ops[rank->n_ops - 1] : NULL;

	if (w->fault != WORLD_FABRIC || w->broken_group >= 0 || !op || is_p2p(op) ||
	    rank->n_ops < FAULT_FROM || w->groups[rank->groups[op->slot]].size < 2)
		return;
	w->broken_group = rank->groups[op->slot];
	w->broken_seq = op->seq;
	w->partly = op->kind != WORLD_BROADCAST && world_random(w, 2) == 0;
}

static void play(struct world *w)
{
	bool moved = true;
	size_t i, at;

	while (moved) {
		moved = false;
		for (i = 0; i < w->n_ranks; i++) {
			at = (i + world_random(w, w->n_ranks)) % w->n_ranks;
			moved |= launch(w, at);
			moved |= run_gpu(w, at);
			strike(w);
		}
		/* Now the ranks that were not drawn. */
		for (at = 0; at < w->n_ranks; at++) {
			moved |= launch(w, at);
			moved |= run_gpu(w, at);
		}
		break_fabric(w);
	}
}

/* Updates the completions that each process records: in order within a group. */
static void look(struct world *w)
{
	struct world_rank *rank;
	size_t at, i, blind_from;

	for (at = 0; at < w->n_ranks; at++) {
		rank = &w->ranks[at];
		blind_from = SIZE_MAX;
		if (rank->faulty && w->fault == WORLD_GPU_STOPPED)
			blind_from = rank->stops_at > rank->blind ? rank->stops_at - rank->blind
								  : 0;
		for (i = 0; i < rank->n_ops; i++) {
			rank->ops[i].seen = rank->ops[i].done && i < blind_from;
			if (rank->ops[i].seen)
				rank->seen[rank->ops[i].slot] = rank->ops[i].number;
		}
	}
}

static void choose_culprits(struct world *w, size_t n)
{
	struct world_rank *rank;

	while (n > 0) {
		rank = &w->ranks[world_random(w, w->n_ranks)];
		if (rank->faulty)
			continue;
		rank->faulty = true;
		rank->stops_at = FAULT_FROM + world_random(w, FAULT_SPAN);
		rank->blind = world_random(w, BLIND_MAX);
		n--;
	}
}

struct world *world_new(uint64_t seed, enum world_fault fault, size_t n_culprits)
{
	static const size_t shapes[][3] = { { 4, 2, 2 }, { 2, 2, 4 }, { 8, 1, 2 }, { 4, 4, 1 },
					    { 2, 4, 2 }, { 1, 1, 8 }, { 4, 2, 4 }, { 4, 1, 4 } };
	struct world *w = xcalloc(1, sizeof(*w));
	size_t i, micro, shape;
	bool async;

	w->random = seed;
	shape = world_random(w, ARRAY_SIZE(shapes));
	w->tp = shapes[shape][0];
	w->pp = shapes[shape][1];
	w->dp = shapes[shape][2];
	w->n_ranks = w->tp * w->pp * w->dp;
	w->ahead = AHEAD_MIN + world_random(w, AHEAD_MAX);
	w->fault = fault;
	w->broken_group = -1;
	w->named_alone = world_random(w, 4) != 0;
	micro = 1 + world_random(w, 4);
	async = world_random(w, 2) == 0;
	lay_out(w);
	for (i = 0; i < w->n_ranks; i++) {
		write_program(w, i / (w->dp * w->tp), &w->ranks[i], micro, async);
		w->ranks[i].ops = xcalloc(WORLD_OPS_MAX, sizeof(*w->ranks[i].ops));
	}
	choose_culprits(w, fault == WORLD_FABRIC ? 0 : n_culprits);
	play(w);
	look(w);
	return w;
}

void world_free(struct world *w)
{
	size_t i;

	for (i = 0; i < w->n_ranks; i++)
		free(w->ranks[i].ops);
	free(w);
}
