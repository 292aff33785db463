/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/hang/hang_facts.h"

/* True if the member waits in the group. */
static bool is_ahead(const struct hang_position *position)
{
	return position->enqueued >= 0 && position->enqueued > position->completed &&
	       position->completed != HANG_UNKNOWN;
}

/* What the members of one group have launched, in the group's order, and which are behind. */
struct launched {
	uint32_t *ranks; /* owned */
	int64_t *enqueued;
	size_t n;
	uint32_t behind[HANG_ROW_WAITS_MAX];
	size_t n_behind; /* total number, may exceed the array */
};

static void find_launched(const struct hang_case *c, uint32_t at, struct launched *ret)
{
	const struct hang_group *group = &c->groups[at];
	size_t i;

	ret->n = 0;
	for (i = 0; i < group->size; i++) {
		const struct hang_position *position =
			group->ranks[i] == HANG_NOBODY ? NULL
						       : hang_case_find(c, group->ranks[i], at);

		if (!position || position->enqueued == HANG_UNKNOWN)
			continue;
		ret->ranks[ret->n] = group->ranks[i];
		ret->enqueued[ret->n++] = position->enqueued;
	}
}

/* A rank that waits at a number has launched it, so it is not among them. */
static void find_behind(struct launched *launched, int64_t seq)
{
	size_t i;

	launched->n_behind = 0;
	for (i = 0; i < launched->n; i++) {
		if (launched->enqueued[i] >= seq)
			continue;
		if (launched->n_behind < HANG_ROW_WAITS_MAX)
			launched->behind[launched->n_behind] = launched->ranks[i];
		launched->n_behind++;
	}
}

static void add_waits(const struct launched *launched, struct hang_row *row)
{
	size_t i, n = MIN(launched->n_behind, (size_t)HANG_ROW_WAITS_MAX);

	for (i = 0; i < n && row->n_waits_for + i < HANG_ROW_WAITS_MAX; i++)
		row->waits_for[row->n_waits_for + i] = launched->behind[i];
	row->n_waits_for += launched->n_behind;
}

static int by_wait(const void *a, const void *b)
{
	const struct hang_row *x = *(const struct hang_row *const *)a,
			      *y = *(const struct hang_row *const *)b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Members are looked up once per group; all waiters at one number wait for the same. */
static void find_waits(const struct hang_case *c, struct hang_row **waiting, size_t n)
{
	struct launched launched = { .ranks = xcalloc(c->n_ranks + 1, sizeof(*launched.ranks)),
				     .enqueued =
					     xcalloc(c->n_ranks + 1, sizeof(*launched.enqueued)) };
	size_t i;

	qsort((void *)waiting, n, sizeof(*waiting), by_wait);
	for (i = 0; i < n; i++) {
		const struct hang_row *before = i > 0 ? waiting[i - 1] : NULL;
		struct hang_row *row = waiting[i];
		const bool other_group = !before || before->group != row->group;

		if (other_group)
			find_launched(c, (uint32_t)row->group, &launched);
		if (other_group || before->seq != row->seq)
			find_behind(&launched, row->seq);
		add_waits(&launched, row);
	}
	free(launched.ranks);
	free(launched.enqueued);
}

/* A send or receive waits for its other end. */
static void take_op(struct hang_row *row, const struct hang_op *op)
{
	(void)snprintf(row->op, sizeof(row->op), "%s", op->name);
	if (op->peer < 0 || !hang_facts_is_p2p(op) || row->n_waits_for > 0)
		return;
	row->waits_for[0] = (uint32_t)op->peer;
	row->n_waits_for = 1;
}

/* Chooses the group in which a rank waits: the smallest, which says the most. */
static void take_position(const struct hang_case *c, struct hang_row *row,
			  const struct hang_position *position)
{
	bool waits = is_ahead(position);
	const struct hang_group *group = &c->groups[position->group];

	if (row->group >= 0 && (row->waits && !waits))
		return;
	/* A group of one says nothing. */
	if (row->group >= 0 && row->waits == waits && c->groups[row->group].size > 1 &&
	    (group->size == 1 || c->groups[row->group].size <= group->size))
		return;
	row->group = position->group;
	row->waits = waits;
	row->seq = waits ? position->completed + 1 : position->enqueued;
}

struct hang_row *hang_rows_new(const struct hang_case *c)
{
	struct hang_row *rows = xcalloc(c->n_ranks + 1, sizeof(*rows));
	CLEANUP(freep) struct hang_row **waiting = xcalloc(c->n_ranks + 1, sizeof(*waiting));
	const struct hang_op *op;
	struct hang_row *row;
	size_t i, n = 0;

	for (i = 0; i < c->n_ranks; i++)
		rows[i] = (struct hang_row){ .rank = (uint32_t)i, .group = -1, .seq = HANG_UNKNOWN };
	for (i = 0; i < c->n_positions; i++)
		take_position(c, &rows[c->positions[i].rank], &c->positions[i]);
	for (i = 0; i < c->n_ops; i++) {
		op = &c->ops[i];
		row = &rows[op->rank];
		if (op->group == row->group && op->seq == row->seq)
			take_op(row, op);
	}
	for (i = 0; i < c->n_ranks; i++) {
		if (rows[i].waits && !c->groups[rows[i].group].p2p)
			waiting[n++] = &rows[i];
	}
	find_waits(c, waiting, n);
	return rows;
}

static json_t *text_or_null(const char *text)
{
	return text[0] ? json_string(text) : json_null();
}

static json_t *encode_row(const struct hang_case *c, const struct hang_row *row)
{
	const struct hang_rank *rank = &c->ranks[row->rank];
	const struct hang_group *group = row->group >= 0 ? &c->groups[row->group] : NULL;
	size_t i, n = MIN(row->n_waits_for, (size_t)HANG_ROW_WAITS_MAX);
	json_t *sources = json_array(), *waits_for = json_array();

	for (i = 0; i < HANG_SOURCES; i++)
		if (rank->sources & (1U << i))
			(void)json_array_append_new(sources, json_string(hang_source_names[i]));
	for (i = 0; i < n; i++)
		(void)json_array_append_new(waits_for, json_integer(row->waits_for[i]));
	return json_pack(
		"{s:I, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:I}", "rank",
		(json_int_t)row->rank, "node", text_or_null(rank->node), "gpu",
		text_or_null(rank->gpu), "sources", sources, "process",
		hang_process_names[rank->process], "for_s",
		isfinite(rank->process_s) ? json_real(rank->process_s) : json_null(), "where",
		text_or_null(rank->where), "group", group ? json_string(group->name) : json_null(),
		"group_desc", group ? json_string(group->desc) : json_null(), "op",
		text_or_null(row->op), "seq", row->seq >= 0 ? json_integer(row->seq) : json_null(),
		"waits", row->waits, "waits_for", waits_for, "waits_for_more",
		(json_int_t)(row->n_waits_for - n));
}

json_t *hang_rows_json(const struct hang_case *c, const struct hang_row *rows, size_t first,
		       size_t most)
{
	json_t *list = json_array();
	size_t i;

	for (i = first; i < c->n_ranks && i - first < most; i++)
		(void)json_array_append_new(list, encode_row(c, &rows[i]));
	return list;
}
