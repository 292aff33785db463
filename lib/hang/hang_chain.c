/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_chain.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/ring/ring_layout.h"

static bool is_unknown(const struct hang_case *c, uint32_t rank, uint32_t group)
{
	const struct hang_position *position = rank == HANG_NOBODY ? NULL
								   : hang_case_find(c, rank, group);

	return !position || position->enqueued == HANG_UNKNOWN;
}

size_t hang_chain_unknown(const struct hang_facts *facts, struct hang_verdict *verdict)
{
	const struct hang_case *c = facts->c;
	const struct hang_front *front;
	size_t i, k, before = verdict->n_suspects;

	for (i = 0; i < c->n_groups; i++) {
		front = &facts->groups[i];
		if (front->unknown == 0 || front->behind > 0 || front->pending == 0)
			continue;
		for (k = 0; k < c->groups[i].size; k++)
			if (c->groups[i].ranks[k] != HANG_NOBODY &&
			    is_unknown(c, c->groups[i].ranks[k], (uint32_t)i) &&
			    !facts->ranks[c->groups[i].ranks[k]].known)
				hang_verdict_suspect(verdict, c->groups[i].ranks[k]);
		hang_verdict_say(&verdict->evidence,
				 "%s: rank %u and %zu more wait at operation %" PRId64
				 "; nothing is known of %zu of its %zu members",
				 hang_facts_group(c, (uint32_t)i), front->waiter,
				 front->pending - 1, front->seq, front->unknown, c->groups[i].size);
	}
	/* Sends and receives whose other end has no data. */
	for (i = 0; i < c->n_ranks; i++)
		if (facts->ranks[i].waited && !facts->ranks[i].known && c->ranks[i].sources == 0)
			hang_verdict_suspect(verdict, (uint32_t)i);
	return verdict->n_suspects - before;
}

/* --- launches only --------------------------------------------------------------- */

/* Ahead of somebody, it waits there; level with all, it may; without a counter, it may do both. */
static bool may_be_held(const struct hang_facts *facts, uint32_t rank, uint32_t group)
{
	const struct hang_front *front = &facts->groups[group];
	const struct hang_position *position = hang_case_find(facts->c, rank, group);

	if (!position || position->enqueued == HANG_UNKNOWN)
		return front->counts_only;
	return position->completed == HANG_UNKNOWN &&
	       (position->enqueued > front->enqueued_least ||
		front->enqueued_least == front->enqueued_most);
}

/*
 * For each rank, whether it may be held up in some group. New memory; NULL: any rank may, since
 * group members are unknown.
 */
static bool *find_held(const struct hang_facts *facts)
{
	const struct hang_case *c = facts->c;
	CLEANUP(freep) bool *held = xcalloc(c->n_ranks + 1, sizeof(*held));
	const struct hang_group *group;
	size_t i, k;

	for (i = 0; i < c->n_groups; i++) {
		group = &c->groups[i];
		for (k = 0; k < group->size && group->size > 1; k++) {
			if (group->ranks[k] != HANG_NOBODY)
				held[group->ranks[k]] |=
					may_be_held(facts, group->ranks[k], (uint32_t)i);
			else if (facts->groups[i].counts_only)
				return NULL;
		}
	}
	return TAKE(held);
}

/* For each rank, a position where it has launched less than others. New memory. */
static const struct hang_position **find_behind(const struct hang_facts *facts)
{
	const struct hang_case *c = facts->c;
	const struct hang_position **all = xcalloc(c->n_ranks + 1, sizeof(*all));
	const struct hang_position *position;
	size_t i;

	for (i = 0; i < c->n_positions; i++) {
		position = &c->positions[i];
		if (facts->groups[position->group].counts_only &&
		    position->enqueued != HANG_UNKNOWN &&
		    position->enqueued < facts->groups[position->group].enqueued_most)
			all[position->rank] = position;
	}
	return all;
}

/* True if most of a group are known to have launched more. */
static bool most_launched_more(const struct hang_facts *facts, uint32_t group)
{
	return 2 * facts->groups[group].less < facts->c->groups[group].size;
}

/* If not, those that launched the most may have made a call that the others rightly do not make. */
static void suspect_ahead(const struct hang_facts *facts, struct hang_verdict *verdict)
{
	const struct hang_position *position;
	const struct hang_front *front;
	size_t i;

	for (i = 0; i < facts->c->n_positions; i++) {
		position = &facts->c->positions[i];
		front = &facts->groups[position->group];
		if (front->counts_only && front->less > 0 &&
		    position->enqueued == front->enqueued_most &&
		    !most_launched_more(facts, position->group))
			hang_verdict_suspect(verdict, position->rank);
	}
}

size_t hang_chain_counts(const struct hang_facts *facts, struct hang_verdict *verdict)
{
	const struct hang_case *c = facts->c;
	CLEANUP(freep) bool *held = find_held(facts);
	CLEANUP(freep) const struct hang_position **behind = find_behind(facts);
	const struct hang_position *position;
	size_t i, n = 0, missing = 0;

	for (i = 0; i < c->n_ranks; i++)
		missing += !facts->ranks[i].known;
	for (i = 0; i < c->n_ranks; i++) {
		if (!facts->ranks[i].behind || facts->ranks[i].idle != HANG_IDLE_UNKNOWN)
			continue;
		position = behind[i];
		if (!position)
			continue;
		hang_verdict_say(&verdict->evidence,
				 "rank %zu: has launched %" PRId64
				 " operations of %s, others %" PRId64,
				 i, position->enqueued, hang_facts_group(c, position->group),
				 facts->groups[position->group].enqueued_most);
		if (held && !held[i] && missing == 0 && most_launched_more(facts, position->group)) {
			hang_verdict_blame(verdict, (uint32_t)i);
			n++;
		} else {
			hang_verdict_suspect(verdict, (uint32_t)i);
		}
	}
	suspect_ahead(facts, verdict);
	return n;
}

/* --- equal ------------------------------------------------------------------------ */

/* True if the rank waits first in this group; without data on its operations always. */
static bool waits_first(const struct hang_facts *facts, uint32_t rank, uint32_t group)
{
	const struct hang_position *own = hang_case_find(facts->c, rank, group);
	size_t first = facts->ranks[rank].first_op;

	if (!own || own->completed == HANG_UNKNOWN)
		return facts->groups[group].counts_only;
	if (own->completed + 1 != facts->groups[group].seq)
		return false;
	return first == SIZE_MAX || facts->c->ops[first].group == group;
}

static bool is_equal(const struct hang_facts *facts, uint32_t at)
{
	const struct hang_group *group = &facts->c->groups[at];
	const struct hang_front *front = &facts->groups[at];
	size_t i;

	if (group->p2p || group->size < 2)
		return false;
	if (front->counts_only
		    ? front->enqueued_most <= 0 || front->enqueued_most != front->enqueued_least
		    : front->seq == HANG_UNKNOWN || front->launched < group->size)
		return false;
	for (i = 0; i < group->size; i++)
		if (group->ranks[i] == HANG_NOBODY || is_unknown(facts->c, group->ranks[i], at) ||
		    !waits_first(facts, group->ranks[i], at))
			return false;
	return true;
}

/* With counts alone, equality means nothing unless it holds in all groups. */
static bool any_behind(const struct hang_facts *facts)
{
	size_t i;

	for (i = 0; i < facts->c->n_ranks; i++)
		if (facts->ranks[i].behind)
			return true;
	return false;
}

int64_t hang_chain_equal(const struct hang_facts *facts)
{
	size_t i;

	for (i = 0; i < facts->c->n_ranks; i++)
		if (!facts->ranks[i].known)
			return -1;
	for (i = 0; i < facts->c->n_groups; i++)
		if (is_equal(facts, (uint32_t)i) &&
		    (!facts->groups[i].counts_only || !any_behind(facts)))
			return (int64_t)i;
	return -1;
}

/* --- proxies ------------------------------------------------------------------------ */

/* Operations that all members of a group have begun and none has ended: `first` to `last`. */
struct under_way {
	int64_t first, last;
};

static struct under_way find_under_way(const struct hang_facts *facts, uint32_t at)
{
	static const struct under_way none = { 0, HANG_NONE };
	struct under_way found = { HANG_NONE, INT64_MAX };
	const struct hang_group *group = &facts->c->groups[at];
	const struct hang_position *position;
	size_t i;

	for (i = 0; i < group->size; i++) {
		position = group->ranks[i] == HANG_NOBODY
				   ? NULL
				   : hang_case_find(facts->c, group->ranks[i], at);
		if (!position || position->started == HANG_UNKNOWN ||
		    position->completed == HANG_UNKNOWN)
			return none;
		found.first = MAX(found.first, position->completed + 1);
		found.last = MIN(found.last, position->started);
	}
	return found;
}

/* For each group; new memory. */
static struct under_way *find_all_under_way(const struct hang_facts *facts)
{
	struct under_way *all = xcalloc(facts->c->n_groups + 1, sizeof(*all));
	size_t i;

	for (i = 0; i < facts->c->n_groups; i++)
		all[i] = find_under_way(facts, (uint32_t)i);
	return all;
}

static const char *wait_words(unsigned wait)
{
	switch (wait) {
	case RING_WAIT_SEND_GPU:
		return "its GPU to fill the send buffer";
	case RING_WAIT_SEND:
		return "the network to accept what it sent";
	case RING_WAIT_RECV:
		return "the network to deliver what it receives";
	case RING_WAIT_RECV_FLUSH:
		return "what it received to reach its GPU's memory";
	case RING_WAIT_RECV_GPU:
		return "its GPU to consume what it received";
	case RING_WAIT_SEND_PEER:
		return "room at the receiver";
	default:
		return "nothing that is known";
	}
}

/* Number of operations under way by kind of wait. */
struct waits {
	size_t send, recv, gpu, all;
};

static bool counts(const struct under_way *under_way, const struct hang_op *op)
{
	if (op->wait == 0 || op->state == HANG_OP_ENDED)
		return false;
	if (hang_facts_is_p2p(op))
		return op->state == HANG_OP_STARTED;
	return op->seq >= under_way[op->group].first && op->seq <= under_way[op->group].last;
}

static bool is_gpu_wait(unsigned wait)
{
	return wait == RING_WAIT_RECV_GPU || wait == RING_WAIT_RECV_FLUSH;
}

static struct waits count_waits(const struct hang_facts *facts, const struct under_way *under_way)
{
	struct waits waits = { .send = 0 };
	const struct hang_op *op;
	size_t i;

	for (i = 0; i < facts->c->n_ops; i++) {
		op = &facts->c->ops[i];
		if (!counts(under_way, op))
			continue;
		waits.all++;
		waits.send += op->wait == RING_WAIT_SEND;
		waits.recv += op->wait == RING_WAIT_RECV;
		waits.gpu += is_gpu_wait(op->wait);
	}
	return waits;
}

size_t hang_chain_proxies(const struct hang_facts *facts, struct hang_verdict *verdict,
			  bool *ret_fabric)
{
	CLEANUP(freep) struct under_way *under_way = find_all_under_way(facts);
	struct waits waits = count_waits(facts, under_way);
	bool gpu = waits.gpu > 0 && 2 * waits.gpu < waits.all;
	bool sender = waits.send > 0 && 2 * waits.send <= waits.all;
	const struct hang_op *op;
	size_t i, n = 0;
	bool guilty;

	*ret_fabric = !gpu && waits.send + waits.recv > 0 && waits.gpu == 0;
	for (i = 0; i < facts->c->n_ops && (gpu || *ret_fabric); i++) {
		op = &facts->c->ops[i];
		if (!counts(under_way, op))
			continue;
		guilty = gpu ? is_gpu_wait(op->wait) : sender && op->wait == RING_WAIT_SEND;
		if (guilty)
			hang_verdict_blame(verdict, op->rank);
		else if (*ret_fabric && op->wait == RING_WAIT_RECV && !sender)
			hang_verdict_suspect(verdict, op->rank);
		else
			continue;
		n += guilty;
		hang_verdict_say(&verdict->evidence,
				 "rank %u: all members of %s have started operation %" PRId64
				 " and none has finished it; its proxy waits for %s",
				 op->rank, hang_facts_group(facts->c, op->group), op->seq,
				 wait_words(op->wait));
	}
	return n;
}
