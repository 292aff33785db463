/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/ring_hang.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/json/json.h"
#include "lib/ring/ring_func.h"

enum { NAME_SIZE = 64, NS_PER_S = 1000000000 };

#define P2P RING_FUNCS /* all sends and receives are one group */

struct view {
	const struct ring_hang_ring *ring, *all;
	size_t n_all;
	uint64_t now_ns;
	bool kernels;  /* whether recorded: without it start and end are unknown */
	uint64_t done; /* operations below this number have ended, or are unknown */
};

/* --- operations --- */

static bool is_current(const struct ring_hang_ring *ring, const struct ring_op *op)
{
	return ring->since_ns && op->enqueued_ns >= ring->since_ns;
}

static bool is_done(const struct ring_op *op)
{
	return op->flags & RING_DONE;
}

static bool has_started(const struct ring_op *op)
{
	return op->started > 0 || op->gpu_start_ns || op->host_start_ns;
}

/*
 * Operations of a communicator end in order: those before one that has ended have ended too, even
 * if their timestamps were lost. Returns the last such number plus one; 0: none.
 */
static uint64_t find_done(const struct ring_hang_ring *ring)
{
	size_t i = ring->n_ops;

	while (i-- > 0) {
		if (is_done(&ring->ops[i]))
			return ring->ops[i].number + 1;
	}
	return 0;
}

static bool is_in_flight(const struct view *v, const struct ring_op *op)
{
	return v->kernels && is_current(v->ring, op) && op->number >= v->done;
}

static struct view view_of(const struct ring_hang_ring *rings, size_t n, size_t i, uint64_t now_ns)
{
	return (struct view){ .ring = &rings[i],
			      .all = rings,
			      .n_all = n,
			      .now_ns = now_ns,
			      .kernels = rings[i].comm->mask & RING_MASK_KERNELS,
			      .done = find_done(&rings[i]) };
}

uint64_t ring_hang_moved_ns(const struct ring_hang_ring *ring, uint64_t now_ns, bool *ret_in_flight)
{
	const struct view v = view_of(ring, 1, 0, now_ns);
	uint64_t moved_ns = ring->since_ns ? ring->comm->beat_ns : 0;
	size_t i;

	*ret_in_flight = false;
	for (i = 0; i < ring->n_ops; i++) {
		const struct ring_op *op = &ring->ops[i];

		if (!is_current(ring, op))
			continue;
		moved_ns = MAX(moved_ns, op->enqueued_ns);
		moved_ns = MAX(moved_ns, op->host_start_ns);
		moved_ns = MAX(moved_ns, op->host_stop_ns);
		*ret_in_flight |= is_in_flight(&v, op);
	}
	return MIN(moved_ns, now_ns);
}

/* --- groups --- */

static unsigned group_of(unsigned func)
{
	return ring_func_is_p2p(func) ? P2P : func;
}

/* Index of its group, added if new. */
static size_t find_group(const struct view *v, json_t *groups, unsigned func)
{
	const struct ring_comm *comm = v->ring->comm;
	char name[NAME_SIZE];
	const json_t *group;
	size_t i;

	(void)snprintf(name, sizeof(name), "%016" PRIx64 " %s", comm->comm_id,
		       func == P2P ? "P2P" : ring_func_names[func]);
	json_array_foreach(groups, i, group)
	{
		if (streq(json_string_value(json_object_get(group, "name")), name) &&
		    json_integer_value(json_object_get(group, "size")) == comm->n_ranks)
			return i;
	}
	(void)json_array_append_new(groups, json_pack("{s:s, s:s, s:i, s:n, s:b}", "name", name,
						      "desc", comm->name, "size", comm->n_ranks,
						      "ranks", "p2p", func == P2P));
	return i;
}

/* A rank's progress in a function. */
struct position {
	bool any, captured;
	int64_t least, enqueued, started, completed; /* -1: none was recorded */
};

static struct position find_position(const struct view *v, unsigned func)
{
	struct position p = { .least = INT64_MAX, .enqueued = -1, .started = -1, .completed = -1 };
	size_t i;

	for (i = 0; i < v->ring->n_ops; i++) {
		const struct ring_op *op = &v->ring->ops[i];
		const int64_t seq = (int64_t)op->seq;

		if (group_of(op->func) != func)
			continue;
		p.captured |= op->flags & RING_GRAPH;
		if (!is_current(v->ring, op))
			continue;
		p.any = true;
		p.least = MIN(p.least, seq);
		p.enqueued = MAX(p.enqueued, seq);
		if (has_started(op))
			p.started = MAX(p.started, seq);
		if (op->number < v->done)
			p.completed = MAX(p.completed, seq);
	}
	return p;
}

/* If none was recorded, there was none, provided that recording covers the first operation. */
static void set_number(json_t *position, const char *key, int64_t number, const struct position *p)
{
	if (number >= 0 || p->least == 0)
		(void)json_object_set_new(position, key, json_integer(number));
}

static void add_position(const struct view *v, unsigned func, json_t *groups, json_t *positions)
{
	const struct position p = find_position(v, func);
	json_t *position;

	if (!p.any)
		return;
	position = json_pack("{s:I, s:i}", "group", (json_int_t)find_group(v, groups, func),
			     "place", v->ring->comm->rank);
	if (func != P2P && func != RING_OTHER && !p.captured) {
		set_number(position, "enqueued", p.enqueued, &p);
		if (v->kernels) {
			set_number(position, "started", MAX(p.started, p.completed), &p);
			set_number(position, "completed", p.completed, &p);
		}
	}
	(void)json_array_append_new(positions, position);
}

/* --- operations in the document --- */

/* The global rank of a place in the communicator, if it is on this host. */
static json_t *peer_of(const struct view *v, int32_t place)
{
	size_t i;

	for (i = 0; i < v->n_all; i++) {
		const struct ring_comm *comm = v->all[i].comm;

		if (comm->comm_id == v->ring->comm->comm_id && comm->rank == place &&
		    comm->n_ranks == v->ring->comm->n_ranks)
			return json_integer(v->all[i].rank);
	}
	return json_null();
}

static const char *state_of(const struct view *v, const struct ring_op *op)
{
	if (!v->kernels)
		return "unknown";
	if (op->number < v->done)
		return "ended";
	return has_started(op) ? "started" : "enqueued";
}

static double for_s(const struct view *v, const struct ring_op *op)
{
	uint64_t since_ns = op->host_start_ns ? op->host_start_ns : op->enqueued_ns;

	if (op->number < v->done && op->host_stop_ns)
		since_ns = op->host_stop_ns;
	return v->now_ns > since_ns ? (double)(v->now_ns - since_ns) / NS_PER_S : 0;
}

static json_t *encode_op(const struct view *v, const struct ring_op *op, json_t *groups)
{
	const bool p2p = ring_func_is_p2p(op->func);
	json_t *item = json_pack("{s:I, s:s, s:o, s:o?, s:s, s:f, s:i}", "group",
				 (json_int_t)find_group(v, groups, group_of(op->func)), "op",
				 op->name, "peer", p2p ? peer_of(v, op->peer) : json_null(),
				 "count", op->bytes ? json_integer((json_int_t)op->bytes) : NULL,
				 "state", state_of(v, op), "for_s", for_s(v, op), "wait", op->wait);

	if (p2p)
		(void)json_object_set_new(item, "peer_place", json_integer(op->peer));
	else
		(void)json_object_set_new(item, "seq", json_integer((json_int_t)op->seq));
	return item;
}

static void add_ops(const struct view *v, json_t *groups, json_t *ops)
{
	const struct ring_hang_ring *ring = v->ring;
	size_t n = 0, i;

	for (i = 0; i + 1 < ring->n_ops && n + 1 < RING_HANG_OPS_MAX; i++) {
		if (!is_in_flight(v, &ring->ops[i]))
			continue;
		(void)json_array_append_new(ops, encode_op(v, &ring->ops[i], groups));
		n++;
	}
	if (ring->n_ops && is_current(ring, &ring->ops[ring->n_ops - 1]))
		(void)json_array_append_new(ops, encode_op(v, &ring->ops[ring->n_ops - 1], groups));
}

/* --- ranks --- */

static json_t *array_of(json_t *object, const char *key)
{
	json_t *array = json_object_get(object, key);

	if (json_is_array(array))
		return array;
	array = json_array();
	(void)json_object_set_new(object, key, array);
	return array;
}

static json_t *find_rank(json_t *ranks, int64_t number)
{
	json_t *rank;
	size_t i;

	json_array_foreach(ranks, i, rank)
	{
		if (json_integer_value(json_object_get(rank, "rank")) == number)
			return rank;
	}
	rank = json_pack("{s:I}", "rank", (json_int_t)number);
	(void)json_array_append_new(ranks, rank);
	return rank;
}

static void add_source(json_t *rank)
{
	json_t *sources = array_of(rank, "sources");
	const json_t *source;
	size_t i;

	json_array_foreach(sources, i, source)
	{
		if (streq(json_string_value(source), "ring"))
			return;
	}
	(void)json_array_append_new(sources, json_string("ring"));
}

static void add_ring(const struct view *v, json_t *groups, json_t *ranks)
{
	json_t *rank = find_rank(ranks, v->ring->rank);
	json_t *positions = array_of(rank, "positions");
	unsigned func;

	add_source(rank);
	for (func = RING_OTHER; func <= P2P; func++)
		add_position(v, func, groups, positions);
	add_ops(v, groups, array_of(rank, "ops"));
}

void ring_hang_add(const struct ring_hang_ring *rings, size_t n, uint64_t now_ns, json_t *groups,
		   json_t *ranks)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const struct view v = view_of(rings, n, i, now_ns);

		if (rings[i].ops && rings[i].comm->n_ranks && rings[i].comm->rank >= 0)
			add_ring(&v, groups, ranks);
	}
}
