/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_facts.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"

/*
 * How many operations members can end (broadcasts, whose root waits for nobody) while one launches
 * nothing: what its buffers hold, NCCL_STEPS of MAXCHANNELS (NCCL's src/include/device.h).
 */
enum { AHEAD_MAX = 8 * 64 };

bool hang_facts_is_p2p(const struct hang_op *op)
{
	return starts_with(op->name, "send") || starts_with(op->name, "recv");
}

const char *hang_facts_group(const struct hang_case *c, uint32_t group)
{
	const struct hang_group *at = &c->groups[group];

	return at->desc[0] ? at->desc : at->name;
}

static bool is_known(const struct hang_position *position)
{
	return position && position->enqueued != HANG_UNKNOWN && position->completed != HANG_UNKNOWN;
}

static bool is_pending(const struct hang_position *position)
{
	return is_known(position) && position->completed < position->enqueued;
}

static void take_position(struct hang_facts *facts, const struct hang_position *position)
{
	struct hang_front *front = &facts->groups[position->group];
	struct hang_standing *rank = &facts->ranks[position->rank];
	int64_t next = position->completed + 1;

	if (position->enqueued != HANG_UNKNOWN) {
		rank->known = true;
		rank->n_groups++;
		if (front->enqueued_most == HANG_UNKNOWN ||
		    position->enqueued > front->enqueued_most)
			front->enqueued_most = position->enqueued;
		if (front->enqueued_least == HANG_UNKNOWN ||
		    position->enqueued < front->enqueued_least)
			front->enqueued_least = position->enqueued;
	}
	if (position->completed != HANG_UNKNOWN)
		front->counts_only = false;
	if (is_known(position) && rank->idle == HANG_IDLE_UNKNOWN)
		rank->idle = HANG_IDLE_YES;
	if (is_pending(position))
		rank->idle = HANG_IDLE_NO;
	if (facts->c->groups[position->group].p2p)
		return;
	if (position->completed != HANG_UNKNOWN &&
	    (front->completed == HANG_UNKNOWN || position->completed > front->completed)) {
		front->completed = position->completed;
		front->completed_by = position->rank;
	}
	if (!is_pending(position))
		return;
	front->pending++;
	if (front->seq == HANG_UNKNOWN || next < front->seq) {
		front->seq = next;
		front->waiter = position->rank;
	}
	if (front->last_seq == HANG_UNKNOWN || next > front->last_seq) {
		front->last_seq = next;
		front->last_waiter = position->rank;
	}
}

static void wait_for(struct hang_standing *rank, uint32_t waiter, uint32_t group, int64_t seq)
{
	if (rank->waited)
		return;
	rank->waited = true;
	rank->outrun = false;
	rank->waiter = waiter;
	rank->group = group;
	rank->seq = seq;
}

static void outrun(struct hang_standing *rank, const struct hang_front *front, uint32_t group)
{
	if (rank->waited)
		return;
	rank->outrun = true;
	rank->waiter = front->completed_by;
	rank->group = group;
	rank->seq = front->completed;
}

/* A member without counters here, where others have some, is not known to be idle. */
static void take_member(struct hang_facts *facts, uint32_t group, uint32_t rank)
{
	struct hang_front *front = &facts->groups[group];
	const struct hang_position *position =
		rank == HANG_NOBODY ? NULL : hang_case_find(facts->c, rank, group);
	struct hang_standing *standing = rank == HANG_NOBODY ? NULL : &facts->ranks[rank];

	if (standing && !front->counts_only && !is_known(position) &&
	    standing->idle == HANG_IDLE_YES)
		standing->idle = HANG_IDLE_UNKNOWN;
	if (facts->c->groups[group].p2p)
		return;
	if (position && position->enqueued != HANG_UNKNOWN &&
	    position->enqueued < front->enqueued_most) {
		standing->behind = true;
		front->less++;
	}
	if (front->seq == HANG_UNKNOWN)
		return;
	if (!position || position->enqueued == HANG_UNKNOWN) {
		front->unknown++;
		return;
	}
	if (position->enqueued >= front->seq)
		front->launched++;
	else
		front->behind++;
	if (position->enqueued >= front->last_seq || front->last_waiter == rank)
		return;
	if (front->completed - AHEAD_MAX > position->enqueued)
		outrun(standing, front, group);
	else
		wait_for(standing, front->last_waiter, group, front->last_seq);
}

/* Operations are in the order in which the rank began them. */
static void take_op(struct hang_facts *facts, size_t i)
{
	const struct hang_op *op = &facts->c->ops[i];
	struct hang_standing *rank = &facts->ranks[op->rank];

	if (op->state == HANG_OP_ENDED)
		return;
	if (rank->first_op == SIZE_MAX)
		rank->first_op = i;
	if (op->state != HANG_OP_UNKNOWN)
		rank->idle = HANG_IDLE_NO;
	if (hang_facts_is_p2p(op) && op->peer >= 0 && (size_t)op->peer < facts->c->n_ranks &&
	    op->peer != op->rank)
		wait_for(&facts->ranks[op->peer], op->rank, op->group, op->seq);
}

void hang_facts_release(struct hang_facts *facts)
{
	free(facts->groups);
	free(facts->ranks);
	*facts = (struct hang_facts){ .c = NULL };
}

int hang_facts_init(struct hang_facts *facts, const struct hang_case *c, struct err *err)
{
	size_t i, k;

	*facts = (struct hang_facts){
		.c = c,
		.groups = calloc(c->n_groups + 1, sizeof(*facts->groups)),
		.ranks = calloc(c->n_ranks + 1, sizeof(*facts->ranks)),
	};
	if (!facts->groups || !facts->ranks)
		return err_set(err, ENOMEM, "no memory to judge %zu ranks", c->n_ranks);
	for (i = 0; i < c->n_groups; i++)
		facts->groups[i] = (struct hang_front){
			.seq = HANG_UNKNOWN,
			.last_seq = HANG_UNKNOWN,
			.completed = HANG_UNKNOWN,
			.enqueued_most = HANG_UNKNOWN,
			.enqueued_least = HANG_UNKNOWN,
			.counts_only = true,
		};
	for (i = 0; i < c->n_ranks; i++)
		facts->ranks[i].first_op = SIZE_MAX;
	for (i = 0; i < c->n_positions; i++)
		take_position(facts, &c->positions[i]);
	for (i = 0; i < c->n_groups; i++)
		for (k = 0; k < c->groups[i].size; k++)
			take_member(facts, (uint32_t)i, c->groups[i].ranks[k]);
	for (i = 0; i < c->n_ops; i++)
		take_op(facts, i);
	return 0;
}
