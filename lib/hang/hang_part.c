/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_part.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

void hang_part_release(struct hang_part *part)
{
	size_t i;

	for (i = 0; i < part->n_groups; i++) {
		free(part->groups[i].name);
		free(part->groups[i].desc);
		free(part->groups[i].ranks);
	}
	for (i = 0; i < part->n_ranks; i++)
		free(part->ranks[i].said);
	for (i = 0; i < part->n_missing; i++)
		free(part->missing[i]);
	free(part->groups);
	free(part->ranks);
	free(part->positions);
	free(part->ops);
	free(part->missing);
	*part = (struct hang_part){ .n_groups = 0 };
}

void hang_part_freep(struct hang_part **part)
{
	if (*part)
		hang_part_release(*part);
	free(*part);
	*part = NULL;
}

size_t hang_part_bytes(const struct hang_part *part)
{
	size_t i, n = sizeof(*part) + part->n_groups * sizeof(*part->groups) +
		      part->n_ranks * sizeof(*part->ranks) +
		      part->n_positions * sizeof(*part->positions) +
		      part->n_ops * sizeof(*part->ops);

	for (i = 0; i < part->n_groups; i++) {
		const struct hang_part_group *group = &part->groups[i];

		n += strlen(group->name) + strlen(group->desc) + 2;
		n += group->ranks ? group->size * sizeof(*group->ranks) : 0;
	}
	for (i = 0; i < part->n_ranks; i++)
		n += part->ranks[i].said ? sizeof(*part->ranks[i].said) : 0;
	for (i = 0; i < part->n_missing; i++)
		n += strlen(part->missing[i]) + 1 + sizeof(*part->missing);
	return n;
}

/* --- joining ------------------------------------------------------------------------ */

struct joining {
	const struct hang_part *part;
	const struct hang_part_options *options;
	struct hang_case *c;
	bool *left_out;		     /* by rank of the part */
	uint32_t *groups;	     /* the part's groups, as indexes in the case */
	struct hang_member *named;   /* from positions, grouped by group */
	size_t *first;		     /* start of each group's, [n_groups + 1] */
	struct hang_member *members; /* of the group being joined */
};

static void joining_release(struct joining *j)
{
	free(j->left_out);
	free(j->groups);
	free(j->named);
	free(j->first);
	free(j->members);
}

static bool is_member(const struct joining *j, uint32_t rank)
{
	return rank != HANG_NOBODY &&
	       (j->options->world == HANG_UNKNOWN || (int64_t)rank < j->options->world);
}

static void choose_ranks(struct joining *j)
{
	const struct hang_part *part = j->part;
	size_t i;

	for (i = 0; i < part->n_ranks; i++) {
		const uint32_t number = part->ranks[i].number;

		j->left_out[i] = j->options->strangers_only && number < j->c->n_ranks &&
				 j->c->ranks[number].sources != 0;
	}
}

/* Places given by positions of the chosen ranks, sorted by group. */
static void sort_places(struct joining *j)
{
	const struct hang_part *part = j->part;
	const struct hang_part_position *position = part->positions;
	CLEANUP(freep) size_t *next = xcalloc(part->n_groups + 1, sizeof(*next));
	size_t pass, i, k;

	for (pass = 0; pass < 2; pass++, position = part->positions) {
		for (i = 0; i < part->n_ranks; i++) {
			for (k = 0; k < part->ranks[i].n_positions; k++, position++) {
				const uint32_t group = position->at.group;

				if (j->left_out[i] || position->place == HANG_UNKNOWN)
					continue;
				if (pass == 0)
					j->first[group + 1]++;
				else
					j->named[next[group]++] =
						(struct hang_member){ (uint32_t)position->place,
								      position->at.rank };
			}
		}
		for (i = 0; pass == 0 && i < part->n_groups; i++) {
			next[i] = j->first[i];
			j->first[i + 1] += j->first[i];
		}
	}
}

static int by_place(const void *a, const void *b)
{
	const struct hang_member *x = a, *y = b;

	return (x->place > y->place) - (x->place < y->place);
}

/* Known members, each place once; reading the part checked that they agree. */
static size_t find_members(const struct joining *j, size_t at)
{
	const struct hang_part_group *group = &j->part->groups[at];
	const size_t n_named = j->first[at + 1] - j->first[at];
	size_t i, n = 0, kept = 0;

	for (i = 0; group->ranks && i < group->size; i++) {
		if (is_member(j, group->ranks[i]))
			j->members[n++] = (struct hang_member){ (uint32_t)i, group->ranks[i] };
	}
	for (i = 0; i < n_named; i++)
		j->members[n++] = j->named[j->first[at] + i];
	qsort(j->members, n, sizeof(*j->members), by_place);
	for (i = 0; i < n; i++) {
		if (kept == 0 || j->members[kept - 1].place != j->members[i].place)
			j->members[kept++] = j->members[i];
	}
	return kept;
}

static int join_group(const struct joining *j, size_t i, struct err *err)
{
	const struct hang_part_group *group = &j->part->groups[i];
	struct hang_members members = { .size = group->size, .known = j->members };

	if (group->whole && is_member(j, group->most))
		members.ranks = group->ranks;
	else
		members.n_known = find_members(j, i);
	return hang_case_join(j->c, group->name, group->desc, &members, &j->groups[i], err);
}

static int join_groups(struct joining *j, struct err *err)
{
	const struct hang_part *part = j->part;
	size_t i, most = 0;
	int r;

	for (i = 0; i < part->n_groups; i++)
		most = MAX(most, part->groups[i].ranks ? part->groups[i].size : 0);
	j->members = xcalloc(most + part->n_positions + 1, sizeof(*j->members));
	for (i = 0; i < part->n_groups; i++) {
		r = join_group(j, i, err);
		if (r < 0)
			return err_wrap(err, r, "groups[%zu]", i);
		if (part->groups[i].p2p)
			j->c->groups[j->groups[i]].p2p = true;
	}
	return 0;
}

static void take_text(char *to, const char *from, size_t size)
{
	if (from[0])
		memcpy(to, from, size);
}

static void take_real(double *to, double from)
{
	if (!isnan(from))
		*to = from;
}

/* Replaces known values by those given; absent ones stay. */
static void take_said(struct hang_rank *rank, const struct hang_rank *said)
{
	take_text(rank->gpu, said->gpu, sizeof(rank->gpu));
	take_text(rank->wchan, said->wchan, sizeof(rank->wchan));
	take_text(rank->syscall, said->syscall, sizeof(rank->syscall));
	take_text(rank->where, said->where, sizeof(rank->where));
	take_real(&rank->process_s, said->process_s);
	take_real(&rank->gpu_util, said->gpu_util);
	take_real(&rank->gpu_power, said->gpu_power);
	take_real(&rank->rdma_bytes_s, said->rdma_bytes_s);
	if (said->pid != HANG_UNKNOWN)
		rank->pid = said->pid;
	if (said->xid != HANG_UNKNOWN)
		rank->xid = said->xid;
	if (said->process != HANG_PROCESS_UNKNOWN)
		rank->process = said->process;
}

static int join_numbers(const struct joining *j, const struct hang_part_rank *of,
			const struct hang_part_position *positions, const struct hang_op *ops,
			struct err *err)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < of->n_positions; i++) {
		struct hang_position position = positions[i].at;

		position.group = j->groups[position.group];
		r = hang_case_position(j->c, &position, err);
	}
	for (i = 0; r == 0 && i < of->n_ops; i++) {
		struct hang_op op = ops[i];

		op.group = j->groups[op.group];
		r = hang_case_op(j->c, &op, err);
	}
	return r;
}

static int join_rank(const struct joining *j, const struct hang_part_rank *of,
		     const struct hang_part_position *positions, const struct hang_op *ops,
		     struct err *err)
{
	const char *node = j->part->head.node;
	struct hang_rank *rank = NULL;
	int r = hang_case_rank(j->c, of->number, &rank, err);

	if (r < 0)
		return r;
	if (rank->node[0] && !streq(rank->node, node)) {
		hang_case_missing(j->c,
				  "rank %u: both %s and %s claim it; the report of %s is left out",
				  of->number, rank->node, node, node);
		return 0;
	}
	memcpy(rank->node, node, sizeof(rank->node));
	rank->sources |= of->sources;
	if (of->said)
		take_said(rank, of->said);
	return join_numbers(j, of, positions, ops, err);
}

static int join_ranks(const struct joining *j, struct err *err)
{
	const struct hang_part_position *positions = j->part->positions;
	const struct hang_op *ops = j->part->ops;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < j->part->n_ranks; i++) {
		const struct hang_part_rank *of = &j->part->ranks[i];

		if (!j->left_out[i])
			r = join_rank(j, of, positions, ops, err);
		positions += of->n_positions;
		ops += of->n_ops;
	}
	return r;
}

static bool has_ranks(const struct joining *j)
{
	size_t i;

	for (i = 0; i < j->part->n_ranks; i++)
		if (!j->left_out[i])
			return true;
	return false;
}

int hang_part_join(const struct hang_part *part, const struct hang_part_options *options,
		   struct hang_case *c, struct err *err)
{
	CLEANUP(joining_release)
	struct joining j = {
		.part = part,
		.options = options,
		.c = c,
		.left_out = xcalloc(part->n_ranks + 1, sizeof(*j.left_out)),
		.groups = xcalloc(part->n_groups + 1, sizeof(*j.groups)),
		.named = xcalloc(part->n_positions + 1, sizeof(*j.named)),
		.first = xcalloc(part->n_groups + 2, sizeof(*j.first)),
	};
	const int64_t world = options->world == HANG_UNKNOWN ? part->world : options->world;
	struct hang_rank *last;
	size_t i;
	int r = 0;

	choose_ranks(&j);
	if (options->strangers_only && !has_ranks(&j))
		return 0;
	if (world > 0)
		r = hang_case_rank(c, world - 1, &last, err);
	sort_places(&j);
	if (r == 0)
		r = join_groups(&j, err);
	if (r == 0)
		r = join_ranks(&j, err);
	for (i = 0; r == 0 && !options->strangers_only && i < part->n_missing; i++)
		hang_case_missing(c, "%s", part->missing[i]);
	return r;
}
