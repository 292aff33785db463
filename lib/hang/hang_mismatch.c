/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_mismatch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

enum { WORDS_SIZE = 80 };

/* What must be the same on all members, in the order of checking. */
enum trait { TRAIT_NAME, TRAIT_DTYPE, TRAIT_COUNT, TRAITS };
static const char *const trait_words[TRAITS] = { "operations", "types", "sizes" };

/* Operations with the same input size on all members. */
static bool is_even(const struct hang_op *op)
{
	static const char *const names[] = {
		"all_reduce",		"AllReduce",	 "_all_gather_base", "AllGather",
		"_reduce_scatter_base", "ReduceScatter", "broadcast",	     "Broadcast"
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (streq(op->name, names[i]))
			return true;
	return false;
}

/* True if it has a value for the trait; otherwise it equals nobody and differs from nobody. */
static bool says(const struct hang_op *op, enum trait trait)
{
	switch (trait) {
	case TRAIT_NAME:
		return true;
	case TRAIT_DTYPE:
		return op->dtype[0] != '\0';
	default:
		return is_even(op) && op->count != HANG_UNKNOWN;
	}
}

static bool same(const struct hang_op *a, const struct hang_op *b, enum trait trait)
{
	switch (trait) {
	case TRAIT_NAME:
		return streq(a->name, b->name);
	case TRAIT_DTYPE:
		return streq(a->dtype, b->dtype);
	default:
		return a->count == b->count;
	}
}

static void write_trait(char *text, const struct hang_op *op, enum trait trait)
{
	if (trait == TRAIT_NAME)
		(void)snprintf(text, WORDS_SIZE, "%s", op->name);
	else if (trait == TRAIT_DTYPE)
		(void)snprintf(text, WORDS_SIZE, "%s of %s", op->name, op->dtype);
	else
		(void)snprintf(text, WORDS_SIZE, "%s of %" PRId64 " elements", op->name, op->count);
}

static int compare(const void *a, const void *b)
{
	const struct hang_op *x = *(const struct hang_op *const *)a;
	const struct hang_op *y = *(const struct hang_op *const *)b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* True if its rank waits in it: the first of its group that has not ended. */
static bool is_head(const struct hang_facts *facts, const struct hang_op *op)
{
	const struct hang_position *own = hang_case_find(facts->c, op->rank, op->group);

	if (!own || op->state == HANG_OP_ENDED || !op->name[0] || op->seq < 0 ||
	    facts->c->groups[op->group].p2p || hang_facts_is_p2p(op))
		return false;
	/* With launches only (RAS), the last one. */
	return own->completed == HANG_UNKNOWN ? op->seq == own->enqueued
					      : op->seq == own->completed + 1;
}

/* The operation equal to most others, if there is a majority. */
static size_t find_most(const struct hang_op *const *ops, size_t n, enum trait trait)
{
	size_t i, at = 0, votes = 0;

	/* A value with a majority is the one that remains (Boyer and Moore 1981). */
	for (i = 0; i < n; i++) {
		if (!says(ops[i], trait))
			continue;
		if (votes == 0)
			at = i;
		votes += same(ops[at], ops[i], trait) ? 1 : (size_t)-1;
	}
	return at;
}

static bool judge_trait(const struct hang_facts *facts, const struct hang_op *const *ops, size_t n,
			enum trait trait, struct hang_verdict *verdict)
{
	const struct hang_group *group = &facts->c->groups[ops[0]->group];
	size_t most = find_most(ops, n, trait), like = 0, unlike = 0, i, other = 0;
	char right[WORDS_SIZE], wrong[WORDS_SIZE];
	bool proven;

	for (i = 0; i < n; i++) {
		if (!says(ops[i], trait))
			continue;
		if (same(ops[most], ops[i], trait)) {
			like++;
		} else {
			unlike++;
			other = i;
		}
	}
	if (unlike == 0)
		return false;
	proven = 2 * like > group->size;
	for (i = 0; i < n; i++) {
		if (!proven)
			hang_verdict_suspect(verdict, ops[i]->rank);
		else if (says(ops[i], trait) && !same(ops[most], ops[i], trait))
			hang_verdict_blame(verdict, ops[i]->rank);
	}
	write_trait(right, ops[most], trait);
	write_trait(wrong, ops[other], trait);
	hang_verdict_say(
		&verdict->evidence,
		"%s: %s differ at operation %" PRId64 ": %zu against %zu of %zu members: %s, "
		"but rank %u %s%s",
		hang_facts_group(facts->c, ops[0]->group), trait_words[trait], ops[0]->seq, like,
		unlike, group->size, right, ops[other]->rank, wrong, proven ? "" : "; no majority");
	return true;
}

static bool judge_run(const struct hang_facts *facts, const struct hang_op *const *ops, size_t n,
		      struct hang_verdict *verdict)
{
	enum trait trait;

	for (trait = 0; n > 1 && trait < TRAITS; trait++)
		if (judge_trait(facts, ops, n, trait, verdict))
			return true;
	return false;
}

int hang_mismatch(const struct hang_facts *facts, struct hang_verdict *verdict, bool *ret_found,
		  struct err *err)
{
	const struct hang_case *c = facts->c;
	CLEANUP(freep) const struct hang_op **heads = calloc(c->n_ops + 1, sizeof(*heads));
	size_t i, first, n = 0;
	bool found = false;

	if (!heads)
		return err_set(err, ENOMEM, "no memory for %zu operations", c->n_ops);
	for (i = 0; i < c->n_ops; i++)
		if (is_head(facts, &c->ops[i]))
			heads[n++] = &c->ops[i];
	qsort((void *)heads, n, sizeof(*heads), compare);
	for (first = 0; first < n; first = i) {
		for (i = first + 1; i < n && heads[i]->group == heads[first]->group &&
				    heads[i]->seq == heads[first]->seq;)
			i++;
		found |= judge_run(facts, heads + first, i - first, verdict);
	}
	*ret_found = found;
	return 0;
}
