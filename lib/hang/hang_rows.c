/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_rows.h"

#include <math.h>
#include <stdio.h>

#include "lib/base/xalloc.h"
#include "lib/hang/hang_facts.h"

/* The latest number of a member in a group that is waited for. */
static bool is_ahead(const struct hang_position *position)
{
	return position->enqueued >= 0 && position->enqueued > position->completed &&
	       position->completed != HANG_UNKNOWN;
}

static void find_waits(const struct hang_case *c, struct hang_row *row,
		       const struct hang_position *mine)
{
	const struct hang_group *group = &c->groups[mine->group];
	const struct hang_position *other;
	size_t i;

	for (i = 0; i < group->size; i++) {
		if (group->ranks[i] == HANG_NOBODY || group->ranks[i] == row->rank)
			continue;
		other = hang_case_find(c, group->ranks[i], mine->group);
		if (!other || other->enqueued == HANG_UNKNOWN || other->enqueued >= row->seq)
			continue;
		if (row->n_waits_for < HANG_ROW_WAITS_MAX)
			row->waits_for[row->n_waits_for] = group->ranks[i];
		row->n_waits_for++;
	}
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

/* Of a rank's groups the one that it waits in: the smallest, which says the most. */
static void take_position(const struct hang_case *c, struct hang_row *row,
			  const struct hang_position *position)
{
	bool waits = is_ahead(position);
	const struct hang_group *group = &c->groups[position->group];

	if (row->group >= 0 && (row->waits && !waits))
		return;
	/* One that it is alone in says nothing. */
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
	const struct hang_position *position;
	const struct hang_op *op;
	struct hang_row *row;
	size_t i;

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
		position = rows[i].waits ? hang_case_find(c, (uint32_t)i, (uint32_t)rows[i].group)
					 : NULL;
		if (position && !c->groups[rows[i].group].p2p)
			find_waits(c, &rows[i], position);
	}
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
