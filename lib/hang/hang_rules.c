/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_rules.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* True if every result depends on all members, by its name in any library; false: unknown. */
static bool synchronises(const struct hang_op *op)
{
	/* As PyTorch and NCCL call them. */
	static const char *const names[] = { "all_reduce",    "allreduce",	 "AllReduce",
					     "_all_gather",   "all_gather",	 "allgather",
					     "AllGather",     "_reduce_scatter", "reduce_scatter",
					     "ReduceScatter", "all_to_all",	 "alltoall",
					     "AllToAll",      "barrier" };
	size_t i;

	/* With no elements it ends at once, whoever is there. */
	for (i = 0; i < ARRAY_SIZE(names) && op->count != 0; i++)
		if (starts_with(op->name, names[i]))
			return true;
	return false;
}

static void suspect_outrun(const struct hang_facts *facts, uint32_t rank,
			   struct hang_verdict *verdict)
{
	const struct hang_standing *of = &facts->ranks[rank];

	hang_verdict_suspect(verdict, rank);
	hang_verdict_say(&verdict->missing,
			 "rank %u: its data are from another time: rank %u has finished "
			 "operation %" PRId64 " of %s, far beyond what it has launched",
			 rank, of->waiter, of->seq, hang_facts_group(facts->c, of->group));
}

/* The number of ranks known to wait. */
static size_t count_waiting(const struct hang_facts *facts)
{
	size_t i, n = 0;

	for (i = 0; i < facts->c->n_ranks; i++)
		n += facts->ranks[i].idle == HANG_IDLE_NO;
	return n;
}

/* Suspects the waiting ranks too: they may have made a call that nobody else makes. */
static void suspect_waiting(const struct hang_facts *facts, size_t waiting,
			    struct hang_verdict *verdict)
{
	size_t i;

	for (i = 0; i < facts->c->n_ranks; i++)
		if (facts->ranks[i].idle == HANG_IDLE_NO)
			hang_verdict_suspect(verdict, (uint32_t)i);
	hang_verdict_say(
		&verdict->evidence,
		"only %zu of %zu ranks are known to wait: those that do may have called an "
		"operation that the others rightly do not call",
		waiting, facts->c->n_ranks);
}

size_t hang_rules_idle(const struct hang_facts *facts, struct hang_verdict *verdict)
{
	const struct hang_standing *rank;
	size_t i, n = 0, waiting = count_waiting(facts);
	bool proven = 2 * waiting > facts->c->n_ranks;

	for (i = 0; i < facts->c->n_ranks; i++) {
		rank = &facts->ranks[i];
		if (rank->idle == HANG_IDLE_YES && rank->outrun)
			suspect_outrun(facts, (uint32_t)i, verdict);
		if (rank->idle != HANG_IDLE_YES || !rank->waited)
			continue;
		if (proven)
			hang_verdict_blame(verdict, (uint32_t)i);
		else
			hang_verdict_suspect(verdict, (uint32_t)i);
		hang_verdict_say(
			&verdict->evidence,
			"rank %zu: all that it launched has finished, in each of its %zu groups, "
			"while rank %u waits for it in %s at operation %" PRId64,
			i, rank->n_groups, rank->waiter, hang_facts_group(facts->c, rank->group),
			rank->seq);
		n++;
	}
	if (proven || n == 0)
		return n;
	suspect_waiting(facts, waiting, verdict);
	return 0;
}

/* --- R2 --------------------------------------------------------------------------- */

/* What was found of one rank. */
struct behind {
	int64_t group; /* the first one in which one operation is behind; -1 */
	int64_t seq;
	uint32_t by;
	bool proven;
};

static bool same_members(const struct hang_group *a, const struct hang_group *b)
{
	return a->size == b->size && memcmp(a->ranks, b->ranks, a->size * sizeof(*a->ranks)) == 0;
}

static void take_behind(const struct hang_facts *facts, const struct hang_op *op,
			struct behind *behind)
{
	const struct hang_front *front = &facts->groups[op->group];
	const struct hang_position *own = hang_case_find(facts->c, op->rank, op->group);
	const struct hang_group *groups = facts->c->groups;
	bool first;

	if (groups[op->group].p2p || op->state == HANG_OP_ENDED || !synchronises(op) || !own ||
	    own->completed == HANG_UNKNOWN || op->seq <= own->completed ||
	    op->seq > front->completed || front->completed > own->enqueued || behind->proven)
		return;
	first = op->seq == own->completed + 1;
	if (first && behind->group < 0) {
		behind->group = op->group;
		behind->seq = op->seq;
		behind->by = front->completed_by;
		return;
	}
	if (first && same_members(&groups[behind->group], &groups[op->group]))
		return;
	*behind = (struct behind){
		.group = op->group, .seq = op->seq, .by = front->completed_by, .proven = true
	};
}

static void say_behind(const struct hang_facts *facts, const struct behind *behind, uint32_t rank,
		       struct hang_verdict *verdict)
{
	const struct hang_position *own = hang_case_find(facts->c, rank, (uint32_t)behind->group);

	hang_verdict_say(&verdict->evidence,
			 "rank %u: on its side operation %" PRId64
			 " of %s has not finished, though rank %u has finished %" PRId64
			 ", which needed this rank",
			 rank, own->completed + 1,
			 hang_facts_group(facts->c, (uint32_t)behind->group), behind->by,
			 facts->groups[behind->group].completed);
}

int hang_rules_own_gpu(const struct hang_facts *facts, struct hang_verdict *verdict, struct err *err)
{
	const struct hang_case *c = facts->c;
	CLEANUP(freep) struct behind *all = calloc(c->n_ranks + 1, sizeof(*all));
	size_t i;

	if (!all)
		return err_set(err, ENOMEM, "no memory to judge %zu ranks", c->n_ranks);
	for (i = 0; i < c->n_ranks; i++)
		all[i].group = -1;
	for (i = 0; i < c->n_ops; i++)
		take_behind(facts, &c->ops[i], &all[c->ops[i].rank]);
	for (i = 0; i < c->n_ranks; i++) {
		if (all[i].group < 0)
			continue;
		if (all[i].proven)
			hang_verdict_blame(verdict, (uint32_t)i);
		say_behind(facts, &all[i], (uint32_t)i, verdict);
	}
	for (i = 0; i < c->n_ranks; i++)
		if (all[i].group >= 0 && !all[i].proven)
			hang_verdict_suspect(verdict, (uint32_t)i);
	return 0;
}

/* --- stream ------------------------------------------------------------------------- */

/* For each rank, whether it has started something that has not ended, in any group. */
static bool *find_running(const struct hang_case *c)
{
	bool *running = xcalloc(c->n_ranks + 1, sizeof(*running));
	const struct hang_position *position;
	size_t i;

	for (i = 0; i < c->n_positions; i++) {
		position = &c->positions[i];
		if (position->started == HANG_UNKNOWN || position->completed == HANG_UNKNOWN ||
		    position->started > position->completed)
			running[position->rank] = true;
	}
	return running;
}

/* The only member that has not started the front, which all have launched and none ended; -1. */
static int64_t not_started(const struct hang_facts *facts, uint32_t group)
{
	const struct hang_group *of = &facts->c->groups[group];
	const struct hang_front *front = &facts->groups[group];
	const struct hang_position *position;
	int64_t found = -1;
	size_t i;

	if (front->seq == HANG_UNKNOWN || of->size < 3 || front->launched < of->size ||
	    front->completed >= front->seq)
		return -1;
	for (i = 0; i < of->size; i++) {
		position = hang_case_find(facts->c, of->ranks[i], group);
		if (position->started == HANG_UNKNOWN ||
		    (position->started < front->seq && found >= 0))
			return -1;
		if (position->started < front->seq)
			found = of->ranks[i];
	}
	return found;
}

size_t hang_rules_stream(const struct hang_facts *facts, struct hang_verdict *verdict)
{
	CLEANUP(freep) bool *running = find_running(facts->c);
	int64_t rank;
	size_t i, n = 0;

	for (i = 0; i < facts->c->n_groups; i++) {
		rank = not_started(facts, (uint32_t)i);
		if (rank < 0 || running[rank])
			continue;
		hang_verdict_blame(verdict, (uint32_t)rank);
		hang_verdict_say(&verdict->evidence,
				 "rank %" PRId64 ": of %s, it alone has launched operation %" PRId64
				 " and not started it, and none of its other operations is running",
				 rank, hang_facts_group(facts->c, (uint32_t)i),
				 facts->groups[i].seq);
		n++;
	}
	return n;
}
