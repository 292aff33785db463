/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/coll/nccl_hang.h"

#include <stdio.h>

#include "lib/base/err.h"
#include "probes/coll/nccl_comm.h"

enum { NAMES_MAX = 3, NAMES_SIZE = NAMES_MAX * 96 };

static unsigned count(uint64_t ranks)
{
	return (unsigned)__builtin_popcountll(ranks);
}

static uint64_t all_in(const struct nccl_group *g)
{
	uint64_t ranks = 0;
	unsigned i;

	for (i = 0; i < g->coll.n; i++)
		ranks |= g->ranks[i].in_it ? COLL_RANK_BIT(i) : 0;
	return ranks;
}

/* "gpu:GPU-a (0000:1b:00.0), gpu:GPU-b (0000:43:00.0)", and the number of others. */
static void name(const struct nccl_group *g, uint64_t ranks, char ret[static NAMES_SIZE])
{
	unsigned named = 0, i;
	size_t used = 0;

	ret[0] = '\0';
	for (i = 0; i < g->coll.n && named < NAMES_MAX; i++) {
		if (!(ranks & COLL_RANK_BIT(i)))
			continue;
		used += (size_t)snprintf(ret + used, NAMES_SIZE - used, "%s%s (%s)",
					 named ? ", " : "", g->ranks[i].subject, g->ranks[i].pci);
		named++;
	}
	if (count(ranks) > named)
		(void)snprintf(ret + used, NAMES_SIZE - used, " and %u more", count(ranks) - named);
}

static uint64_t not_arrived(const struct nccl_group *g)
{
	uint64_t ranks = 0;
	unsigned i;

	for (i = 0; i < g->coll.n; i++)
		ranks |= g->coll.result.ranks[i].arrived ? 0 : COLL_RANK_BIT(i);
	return ranks;
}

/* Ranks on whose streams NCCL has not enqueued the operation. */
static uint64_t not_put(struct nccl_group *g)
{
	uint64_t ranks = 0;
	unsigned i;

	for (i = 0; i < g->coll.n; i++) {
		unsigned state = NCCL_OK;

		if (g->call.async_error(g->ranks[i].comm, &state) == NCCL_OK &&
		    state == NCCL_IN_PROGRESS)
			ranks |= COLL_RANK_BIT(i);
	}
	return ranks;
}

/* How many repetitions of the operation its stream has finished. */
static unsigned steps_of(struct nccl_group *g, unsigned rank)
{
	unsigned n = 0;

	while (n < g->stepped && nccl_passed(g, g->ranks[rank].steps[n], NULL) == 1)
		n++;
	return n;
}

/* Ranks with the fewest finished repetitions, that number, and the least number of the others. */
static uint64_t behind(struct nccl_group *g, unsigned *ret_fewest, unsigned *ret_others)
{
	unsigned fewest = COLL_REPEAT_MAX + 1, others = COLL_REPEAT_MAX + 1, i;
	uint64_t ranks = 0;

	for (i = 0; i < g->coll.n; i++) {
		unsigned n;

		if (!g->ranks[i].in_it)
			continue;
		n = steps_of(g, i);
		if (n < fewest) {
			others = fewest;
			fewest = n;
			ranks = 0;
		}
		if (n == fewest)
			ranks |= COLL_RANK_BIT(i);
		else
			others = MIN(others, n);
	}
	*ret_fewest = fewest;
	*ret_others = others;
	return ranks;
}

static bool is_some(uint64_t ranks, uint64_t all)
{
	return (ranks & all) != 0 && (ranks & all) != all;
}

static void suspect(struct nccl_group *g, uint64_t ranks)
{
	struct coll_result *result = &g->coll.result;

	result->suspects = ranks;
	result->suspect = count(ranks) == 1 ? __builtin_ctzll(ranks) : COLL_NOBODY;
}

void nccl_hang_look(struct nccl_group *g)
{
	struct coll_result *result = &g->coll.result;
	const uint64_t all = all_in(g);
	uint64_t ranks = not_arrived(g) & all;
	unsigned fewest = 0, others = 0;
	char names[NAMES_SIZE];

	suspect(g, 0);
	name(g, ranks, names);
	if (is_some(ranks, all)) {
		suspect(g, ranks);
		(void)snprintf(result->why, sizeof(result->why),
			       "%s did not arrive, %u others waited", names, count(all & ~ranks));
		return;
	}
	ranks = not_put(g) & all;
	name(g, ranks, names);
	if (is_some(ranks, all)) {
		suspect(g, ranks);
		(void)snprintf(result->why, sizeof(result->why),
			       "NCCL did not start it on %s, but did on %u others", names,
			       count(all & ~ranks));
		return;
	}
	ranks = behind(g, &fewest, &others);
	name(g, ranks, names);
	if (is_some(ranks, all)) {
		suspect(g, ranks);
		(void)snprintf(result->why, sizeof(result->why),
			       "%s finished %u of %u operations, the others %u", names, fewest,
			       g->coll.times, others);
		return;
	}
	(void)snprintf(result->why, sizeof(result->why),
		       "all %u GPUs started operation %u of %u and none finished it", count(all),
		       MIN(fewest + 1, g->coll.times), g->coll.times);
}

void nccl_hang_conclude(struct nccl_group *g)
{
	struct coll_result *result = &g->coll.result;
	const uint64_t all = all_in(g), held = g->held & all;
	size_t used = strlen(result->why);
	char names[NAMES_SIZE];

	if (result->suspects && held == (result->suspects & all))
		return;
	name(g, held, names);
	if (!result->suspects && is_some(held, all))
		suspect(g, held);
	if (is_some(held, all))
		(void)snprintf(result->why + used, sizeof(result->why) - used,
			       "; told to abort, %s did not, %u others did", names,
			       count(all & ~held));
	else if (!result->suspects)
		(void)snprintf(
			result->why + used, sizeof(result->why) - used,
			"; told to abort, %s did: cannot tell which of them held up the others",
			held ? "none" : "all");
}
