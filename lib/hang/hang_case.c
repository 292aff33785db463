/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_case.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

enum { INDEX_SLOTS_LEAST = 64, ALLOC_LEAST = 16 };

const char *const hang_source_names[HANG_SOURCES + 1] = {
	"flight-recorder", "ras", "ring", "process", "stack", "device", NULL
};

const char *const hang_process_names[HANG_PROCESSES + 1] = {
	[HANG_PROCESS_UNKNOWN] = "unknown",
	[HANG_PROCESS_RUNNING] = "running",
	[HANG_PROCESS_SPINNING] = "spinning",
	[HANG_PROCESS_SLEEPING] = "sleeping",
	[HANG_PROCESS_FUTEX] = "futex",
	[HANG_PROCESS_DISK] = "disk",
	[HANG_PROCESS_STOPPED] = "stopped",
	[HANG_PROCESS_TRACED] = "traced",
	[HANG_PROCESS_ZOMBIE] = "zombie",
	[HANG_PROCESS_GONE] = "gone",
	[HANG_PROCESSES] = NULL,
};

const char *const hang_op_state_names[HANG_OP_STATES + 1] = {
	[HANG_OP_UNKNOWN] = "unknown", [HANG_OP_ENQUEUED] = "enqueued",
	[HANG_OP_STARTED] = "started", [HANG_OP_ENDED] = "ended",
	[HANG_OP_STATES] = NULL,
};

const struct hang_rank hang_rank_unknown = {
	.pid = HANG_UNKNOWN,
	.process_s = NAN,
	.xid = HANG_UNKNOWN,
	.gpu_util = NAN,
	.gpu_power = NAN,
	.rdma_bytes_s = NAN,
};

void hang_case_release(struct hang_case *c)
{
	size_t i;

	for (i = 0; i < c->n_groups; i++)
		free(c->groups[i].ranks);
	for (i = 0; i < c->n_missing; i++)
		free(c->missing[i]);
	free(c->missing);
	free(c->groups);
	free(c->ranks);
	free(c->positions);
	free(c->ops);
	free(c->by_name.slots);
	free(c->by_members.slots);
	free(c->by_rank.slots);
	*c = (struct hang_case){ .n_ranks = 0 };
}

/* --- memory and hashes ---------------------------------------------------- */

/* Makes room for one more item of `size` bytes in an array of at most `most`. */
static int make_room(void **array, size_t n, size_t *alloc, size_t size, size_t most,
		     const char *what, struct err *err)
{
	size_t want;
	void *grown;

	if (n < *alloc)
		return 0;
	if (n >= most)
		return err_set(err, E2BIG, "more than %zu %s", most, what);
	want = MIN(MAX(*alloc * 2, (size_t)ALLOC_LEAST), most);
	grown = realloc(*array, want * size);
	if (!grown)
		return err_set(err, ENOMEM, "no memory for %zu %s", want, what);
	*array = grown;
	*alloc = want;
	return 0;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t n)
{
	const unsigned char *at = bytes;
	size_t i;

	for (i = 0; i < n; i++)
		hash = (hash ^ at[i]) * UINT64_C(1099511628211); /* FNV-1a, 64 bits */
	return hash;
}

/* FNV's low bits are weak if only the last bytes differ. */
static uint64_t finish(uint64_t hash)
{
	return hash ^ (hash >> 32);
}

static uint64_t hash_name(const char *name, size_t size)
{
	uint64_t hash = mix(UINT64_C(14695981039346656037), name, strlen(name));

	return mix(hash, &size, sizeof(size));
}

static uint64_t hash_members(const char *name, const uint32_t *ranks, size_t size)
{
	return finish(mix(hash_name(name, size), ranks, size * sizeof(*ranks)));
}

static uint64_t hash_position(uint32_t rank, uint32_t group)
{
	uint64_t hash = (((uint64_t)rank << 32) | group) * UINT64_C(0x9e3779b97f4a7c15);

	return finish(hash);
}

typedef uint64_t hang_hash(const struct hang_case *c, uint32_t at);

static void put(struct hang_index *index, uint64_t hash, uint32_t at)
{
	size_t i = hash & (index->n_slots - 1);

	while (index->slots[i])
		i = (i + 1) & (index->n_slots - 1);
	index->slots[i] = at + 1;
	index->n_used++;
}

/* Adds an index; half of the slots are always free. */
static int index_add(const struct hang_case *c, struct hang_index *index, hang_hash *hash_of,
		     uint32_t at, struct err *err)
{
	struct hang_index grown = { .n_slots = MAX(index->n_slots * 2, (size_t)INDEX_SLOTS_LEAST) };
	size_t i;

	if (index->n_used * 2 < index->n_slots) {
		put(index, hash_of(c, at), at);
		return 0;
	}
	grown.slots = calloc(grown.n_slots, sizeof(*grown.slots));
	if (!grown.slots)
		return err_set(err, ENOMEM, "no memory for an index of %zu", grown.n_slots);
	for (i = 0; i < index->n_slots; i++)
		if (index->slots[i])
			put(&grown, hash_of(c, index->slots[i] - 1), index->slots[i] - 1);
	put(&grown, hash_of(c, at), at);
	free(index->slots);
	*index = grown;
	return 0;
}

static uint64_t name_of(const struct hang_case *c, uint32_t at)
{
	return finish(hash_name(c->groups[at].name, c->groups[at].size));
}

static uint64_t members_of(const struct hang_case *c, uint32_t at)
{
	const struct hang_group *group = &c->groups[at];

	return hash_members(group->name, group->ranks, group->size);
}

static uint64_t position_of(const struct hang_case *c, uint32_t at)
{
	return hash_position(c->positions[at].rank, c->positions[at].group);
}

/* --- ranks ---------------------------------------------------------------- */

int hang_case_rank(struct hang_case *c, int64_t rank, struct hang_rank **ret, struct err *err)
{
	size_t i;
	int r;

	if (rank < 0)
		return err_set(err, EINVAL, "rank %" PRId64 ": a rank cannot be negative", rank);
	if (rank >= HANG_RANKS_MAX)
		return err_set(err, E2BIG, "rank %" PRId64 ": the limit is %d ranks", rank,
			       HANG_RANKS_MAX);
	for (i = c->n_ranks; i <= (size_t)rank; i++) {
		r = make_room((void **)&c->ranks, i, &c->ranks_alloc, sizeof(*c->ranks),
			      HANG_RANKS_MAX, "ranks", err);
		if (r < 0)
			return r;
		c->ranks[i] = hang_rank_unknown;
		c->n_ranks = i + 1;
	}
	*ret = &c->ranks[rank];
	return 0;
}

/* --- groups --------------------------------------------------------------- */

/* The i-th given member; HANG_NOBODY where a list has none. */
static struct hang_member member_at(const struct hang_members *members, size_t i)
{
	return members->ranks ? (struct hang_member){ (uint32_t)i, members->ranks[i] }
			      : members->known[i];
}

static size_t n_said(const struct hang_members *members)
{
	return members->ranks ? members->size : members->n_known;
}

static bool is_whole(const struct hang_members *members)
{
	size_t i;

	for (i = 0; members->ranks && i < members->size; i++)
		if (members->ranks[i] == HANG_NOBODY)
			return false;
	return members->ranks;
}

static bool fits(const struct hang_group *group, const struct hang_members *members)
{
	const size_t n = n_said(members);
	size_t i;

	for (i = 0; i < n; i++) {
		const struct hang_member one = member_at(members, i);
		const uint32_t known = group->ranks[one.place];

		if (one.rank != HANG_NOBODY && known != HANG_NOBODY && one.rank != known)
			return false;
	}
	return true;
}

static int check_members(struct hang_case *c, const char *name, const struct hang_members *members,
			 struct err *err)
{
	static const unsigned bits = 8;
	unsigned char seen[HANG_RANKS_MAX / 8] = { 0 };
	const size_t n = n_said(members);
	struct hang_rank *rank;
	size_t i;
	int r;

	for (i = 0; i < n; i++) {
		const uint32_t number = member_at(members, i).rank;

		if (number == HANG_NOBODY)
			continue;
		r = hang_case_rank(c, number, &rank, err);
		if (r < 0)
			return err_wrap(err, r, "group '%s'", name);
		if (seen[number / bits] & (1U << number % bits))
			return err_set(err, EINVAL, "group '%s' has rank %u twice", name, number);
		seen[number / bits] |= (unsigned char)(1U << number % bits);
	}
	return 0;
}

static bool is_named(const struct hang_group *group, const char *name, size_t size)
{
	return group->size == size && streq(group->name, name);
}

/* The newest group with the name and size; -1. */
static int64_t newest(const struct hang_case *c, const char *name, size_t size, size_t *ret_slot)
{
	size_t i;

	for (i = finish(hash_name(name, size)) & (c->by_name.n_slots - 1);
	     c->by_name.n_slots && c->by_name.slots[i]; i = (i + 1) & (c->by_name.n_slots - 1)) {
		*ret_slot = i;
		if (is_named(&c->groups[c->by_name.slots[i] - 1], name, size))
			return c->by_name.slots[i] - 1;
	}
	return -1;
}

/* The group with exactly these members; -1. */
static int64_t same_members(const struct hang_case *c, const char *name, const uint32_t *ranks,
			    size_t size)
{
	const struct hang_index *index = &c->by_members;
	const struct hang_group *group;
	size_t i;

	for (i = hash_members(name, ranks, size) & (index->n_slots - 1);
	     index->n_slots && index->slots[i]; i = (i + 1) & (index->n_slots - 1)) {
		group = &c->groups[index->slots[i] - 1];
		if (is_named(group, name, size) &&
		    memcmp(group->ranks, ranks, size * sizeof(*ranks)) == 0)
			return index->slots[i] - 1;
	}
	return -1;
}

static int new_group(struct hang_case *c, const char *name, size_t size, int64_t before,
		     size_t slot, struct err *err)
{
	struct hang_group *group;
	size_t i;
	int r;

	if (size > HANG_RANKS_MAX || c->n_members + size > HANG_MEMBERS_MAX)
		return err_set(err, E2BIG,
			       "group '%s' of %zu: more than %d members of a group or "
			       "%d of all",
			       name, size, HANG_RANKS_MAX, HANG_MEMBERS_MAX);
	r = make_room((void **)&c->groups, c->n_groups, &c->groups_alloc, sizeof(*c->groups),
		      HANG_GROUPS_MAX, "groups", err);
	if (r < 0)
		return r;
	group = &c->groups[c->n_groups];
	*group = (struct hang_group){ .size = size, .next = (uint32_t)(before + 1) };
	group->ranks = calloc(size, sizeof(*group->ranks));
	if (!group->ranks)
		return err_set(err, ENOMEM, "no memory for a group of %zu", size);
	for (i = 0; i < size; i++)
		group->ranks[i] = HANG_NOBODY;
	(void)snprintf(group->name, sizeof(group->name), "%s", name);
	if (before >= 0)
		c->by_name.slots[slot] = (uint32_t)c->n_groups + 1;
	else
		r = index_add(c, &c->by_name, name_of, (uint32_t)c->n_groups, err);
	if (r < 0) {
		free(group->ranks);
		return r;
	}
	c->n_members += size;
	c->n_groups++;
	return 0;
}

/* Fills in unknown members. */
static int take_members(struct hang_case *c, uint32_t at, const struct hang_members *members,
			struct err *err)
{
	struct hang_group *group = &c->groups[at];
	const size_t n = n_said(members);
	size_t i;

	if (group->n_known == group->size)
		return 0;
	for (i = 0; i < n; i++) {
		const struct hang_member one = member_at(members, i);

		if (one.rank == HANG_NOBODY || group->ranks[one.place] != HANG_NOBODY)
			continue;
		group->ranks[one.place] = one.rank;
		group->n_known++;
	}
	return group->n_known == group->size ? index_add(c, &c->by_members, members_of, at, err)
					     : 0;
}

/* A group with the name that these members may belong to; -1. */
static int64_t find_group(const struct hang_case *c, const char *name,
			  const struct hang_members *members, int64_t last)
{
	int64_t at = -1;
	size_t steps;

	if (is_whole(members))
		at = same_members(c, name, members->ranks, members->size);
	if (at >= 0)
		return at;
	for (at = last, steps = 0; at >= 0 && steps < HANG_NAMESAKES_MAX;
	     at = (int64_t)c->groups[at].next - 1, steps++)
		if (fits(&c->groups[at], members))
			return at;
	return -1;
}

/* Hosts list the members of a large group identically; then nothing is new. */
static bool is_same(const struct hang_group *group, const struct hang_members *members)
{
	return members->ranks && group->n_known == group->size &&
	       memcmp(group->ranks, members->ranks, members->size * sizeof(*members->ranks)) == 0;
}

/* All members as a list if all are known, in new memory; else NULL. */
static uint32_t *list_of(const struct hang_members *members)
{
	uint32_t *ranks;
	size_t i;

	if (members->ranks || members->n_known < members->size)
		return NULL;
	ranks = xcalloc(members->size, sizeof(*ranks));
	for (i = 0; i < members->size; i++)
		ranks[i] = members->known[i].rank;
	return ranks;
}

static int join(struct hang_case *c, const char *name, const struct hang_members *members,
		uint32_t *ret, struct err *err)
{
	size_t slot = 0;
	int64_t last = newest(c, name, members->size, &slot), at = last;
	int r;

	if (last >= 0 && is_same(&c->groups[last], members)) {
		*ret = (uint32_t)last;
		return 0;
	}
	r = check_members(c, name, members, err);
	if (r < 0)
		return r;
	at = find_group(c, name, members, last);
	if (at < 0) {
		r = new_group(c, name, members->size, last, slot, err);
		if (r < 0)
			return r;
		at = (int64_t)c->n_groups - 1;
	}
	*ret = (uint32_t)at;
	return take_members(c, (uint32_t)at, members, err);
}

int hang_case_join(struct hang_case *c, const char *name, const char *desc,
		   const struct hang_members *members, uint32_t *ret, struct err *err)
{
	CLEANUP(freep) uint32_t *ranks = list_of(members);
	const struct hang_members list = { .size = members->size, .ranks = ranks };
	char cut[HANG_NAME_SIZE];
	uint32_t at = 0;
	int r;

	if (members->size == 0)
		return err_set(err, EINVAL, "group '%s' has no member", name);
	(void)snprintf(cut, sizeof(cut), "%s", name);
	r = join(c, cut, ranks ? &list : members, &at, err);
	if (r < 0)
		return r;
	if (desc && !c->groups[at].desc[0])
		(void)snprintf(c->groups[at].desc, sizeof(c->groups[at].desc), "%s", desc);
	*ret = at;
	return 0;
}

int hang_case_group(struct hang_case *c, const char *name, const char *desc, const uint32_t *ranks,
		    size_t size, uint32_t *ret, struct err *err)
{
	const struct hang_members members = { .size = size, .ranks = ranks };

	return hang_case_join(c, name, desc, &members, ret, err);
}

int64_t hang_case_place(const struct hang_group *group, uint32_t rank)
{
	size_t i;

	for (i = 0; i < group->size; i++)
		if (group->ranks[i] == rank)
			return (int64_t)i;
	return -1;
}

/* --- positions, operations ------------------------------------------------ */

static struct hang_position *find_position(const struct hang_case *c, uint32_t rank, uint32_t group)
{
	struct hang_position *position;
	size_t i;

	for (i = hash_position(rank, group) & (c->by_rank.n_slots - 1);
	     c->by_rank.n_slots && c->by_rank.slots[i]; i = (i + 1) & (c->by_rank.n_slots - 1)) {
		position = &c->positions[c->by_rank.slots[i] - 1];
		if (position->rank == rank && position->group == group)
			return position;
	}
	return NULL;
}

const struct hang_position *hang_case_find(const struct hang_case *c, uint32_t rank, uint32_t group)
{
	return find_position(c, rank, group);
}

static int check_place(struct hang_case *c, uint32_t rank, uint32_t group, struct err *err)
{
	struct hang_rank *made;

	if (group >= c->n_groups)
		return err_set(err, EINVAL, "group %u: there are only %zu groups", group,
			       c->n_groups);
	return hang_case_rank(c, rank, &made, err);
}

int hang_case_position(struct hang_case *c, const struct hang_position *position, struct err *err)
{
	struct hang_position *known;
	int r = check_place(c, position->rank, position->group, err);

	if (r < 0)
		return r;
	if (position->enqueued > HANG_NUMBER_MAX || position->started > HANG_NUMBER_MAX ||
	    position->completed > HANG_NUMBER_MAX)
		return err_set(err, EINVAL, "rank %u: no job launches that many operations",
			       position->rank);
	known = find_position(c, position->rank, position->group);
	if (known) {
		known->enqueued = MAX(known->enqueued, position->enqueued);
		known->started = MAX(known->started, position->started);
		known->completed = MAX(known->completed, position->completed);
		return 0;
	}
	r = make_room((void **)&c->positions, c->n_positions, &c->positions_alloc,
		      sizeof(*c->positions), HANG_POSITIONS_MAX, "positions", err);
	if (r < 0)
		return r;
	c->positions[c->n_positions] = *position;
	r = index_add(c, &c->by_rank, position_of, (uint32_t)c->n_positions, err);
	if (r == 0)
		c->n_positions++;
	return r;
}

int hang_case_op(struct hang_case *c, const struct hang_op *op, struct err *err)
{
	int r = check_place(c, op->rank, op->group, err);

	if (r == 0)
		r = make_room((void **)&c->ops, c->n_ops, &c->ops_alloc, sizeof(*c->ops),
			      HANG_OPS_MAX, "operations", err);
	if (r == 0)
		c->ops[c->n_ops++] = *op;
	return r;
}

void hang_case_missing(struct hang_case *c, const char *fmt, ...)
{
	char text[HANG_SENTENCE_SIZE];
	va_list args;
	size_t i;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!c->missing)
		c->missing = xcalloc(HANG_MISSING_MAX, sizeof(*c->missing));
	for (i = 0; i < c->n_missing; i++)
		if (streq(c->missing[i], text))
			return;
	if (c->n_missing < HANG_MISSING_MAX)
		c->missing[c->n_missing++] = xstrdup(text);
}
