/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that hang in known ways, with missing, truncated or renamed dumps: no innocent rank is named. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_fr.h"
#include "lib/hang/hang_words.h"
#include "tests/hang/hang_writer.h"
#include "tests/unit/test.h"

enum { SEEDS = 25, SEEDS_FULL = 1000, BASE = 10, CULPRITS_MAX = 2 };

/* What is done to the files before they are read. */
enum damage { WHOLE, DROPPED, DROPPED_HALF, CUT, RENAMED, COPIED, DAMAGES };
static const char *const damage_names[DAMAGES] = { "whole", "1 to 3 dropped", "half dropped",
						   "3 cut", "renamed",	      "one over another" };

static const enum hang_class classes[WORLD_FAULTS] = {
	[WORLD_HOST_STALLED] = HANG_HOST_STALLED, [WORLD_GPU_STOPPED] = HANG_OWN_GPU_STOPPED,
	[WORLD_MISMATCH] = HANG_MISMATCH,	  [WORLD_FABRIC] = HANG_FABRIC,
	[WORLD_KILLED] = HANG_HOST_STALLED,
};

struct tally {
	size_t n, exact, some, nobody, wrong_class, innocent, suspected;
};

static size_t seeds(void)
{
	const char *text = getenv("ASSAY_HANG_SEEDS");
	long n = text ? strtol(text, NULL, BASE) : 0;

	if (n > 0)
		return (size_t)n;
	return test_times(SEEDS_FULL, SEEDS);
}

/* A dump under a file name, pickle or JSON by turns. */
static void give(struct world *w, struct hang_fr *fr, size_t rank, size_t named, size_t length)
{
	CLEANUP(strbuf_release) struct strbuf dump = STRBUF_INIT(HANG_WRITER_MAX);
	CLEANUP(freep) char *file = xasprintf("_dump_%zu", named);
	struct err err = ERR_INIT;

	if (w->random % 5 == 0)
		hang_writer_json(w, rank, &dump);
	else
		hang_writer_dump(w, rank, &dump);
	if (hang_fr_add(fr, file, dump.data, MIN(dump.len, length), &err) < 0)
		hang_fr_broken(fr, err.msg);
}

static void choose_lost(struct world *w, enum damage damage, bool *lost)
{
	size_t n = 0;

	if (damage == DROPPED)
		n = 1 + (size_t)world_random(w, 3);
	else if (damage == DROPPED_HALF)
		n = w->n_ranks / 2;
	else if (damage == CUT)
		n = 3;
	for (; n > 0; n--)
		lost[world_random(w, w->n_ranks)] = true;
}

static void give_all(struct world *w, struct hang_fr *fr, enum damage damage)
{
	bool lost[WORLD_RANKS_MAX] = { false };
	size_t turn = damage == RENAMED ? 1 + world_random(w, w->n_ranks - 1) : 0;
	size_t over = damage == COPIED ? world_random(w, w->n_ranks) : SIZE_MAX;
	size_t i, from, length;

	choose_lost(w, damage, lost);
	for (i = 0; i < w->n_ranks; i++) {
		from = i == over ? (over + 1) % w->n_ranks : (i + turn) % w->n_ranks;
		length = lost[i] ? world_random(w, 3000) : SIZE_MAX;
		if (w->fault == WORLD_KILLED && w->ranks[from].guilty)
			continue;
		if (!lost[i] || damage == CUT)
			give(w, fr, from, i, length);
	}
}

static void count(const struct world *w, const struct hang_verdict *verdict, struct tally *tally)
{
	size_t i, guilty = 0, named = 0, suspected = 0;

	for (i = 0; i < w->n_ranks; i++)
		guilty += w->ranks[i].guilty;
	for (i = 0; i < verdict->n_ranks; i++)
		named += w->ranks[verdict->ranks[i]].guilty;
	for (i = 0; i < verdict->n_suspects; i++)
		suspected += w->ranks[verdict->suspects[i]].guilty;
	tally->n++;
	tally->innocent += named < verdict->n_ranks;
	tally->exact += named == guilty && guilty > 0 && verdict->class == classes[w->fault];
	tally->some += named > 0 && named < guilty;
	tally->nobody += verdict->n_ranks == 0;
	tally->suspected += verdict->n_ranks == 0 && suspected > 0;
	tally->wrong_class += named > 0 && verdict->class != classes[w->fault];
}

static void play(uint64_t seed, enum world_fault fault, size_t culprits, enum damage damage,
		 struct tally *tally)
{
	CLEANUP(world_freep) struct world *w = world_new(seed, fault, culprits);
	CLEANUP(hang_fr_freep) struct hang_fr *fr = hang_fr_new();
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	CLEANUP(freep) struct hang_verdict *verdict = xcalloc(1, sizeof(*verdict));
	struct err err = ERR_INIT;
	size_t before = tally->innocent;

	/* What one rank alone shows cannot be told from its name where its contents do not prove it. */
	if ((damage == RENAMED || damage == COPIED) && !w->named_alone)
		return;
	give_all(w, fr, damage);
	CHECK(hang_fr_put(fr, &c, &err) == 0);
	CHECK(hang_judge(&c, verdict, &err) == 0);
	count(w, verdict, tally);
	if (tally->innocent > before)
		printf("  seed %" PRIu64 ", %s, %zu culprits, %s: %s\n", seed,
		       world_fault_names[fault], culprits, damage_names[damage],
		       verdict->evidence.text[0]);
}

static void play_all(enum world_fault fault)
{
	struct tally tally;
	size_t seed, culprits;
	enum damage damage;

	for (culprits = 1; culprits <= CULPRITS_MAX; culprits++)
		for (damage = 0; damage < DAMAGES; damage++) {
			tally = (struct tally){ .n = 0 };
			for (seed = 1; seed <= seeds(); seed++)
				play(seed * DAMAGES + damage, fault, culprits, damage, &tally);
			printf("  %-15s %zu, %-16s: %5zu exact %5zu some %5zu nobody (suspected "
			       "%5zu) "
			       "%5zu other class %3zu innocent, of %zu\n",
			       world_fault_names[fault], culprits, damage_names[damage],
			       tally.exact, tally.some, tally.nobody, tally.suspected,
			       tally.wrong_class, tally.innocent, tally.n);
			CHECK_EQ(tally.innocent, 0);
		}
}

static void hosts_that_stall_are_named_and_nobody_else(void)
{
	play_all(WORLD_HOST_STALLED);
}

static void gpus_that_stop_are_named_and_nobody_else(void)
{
	play_all(WORLD_GPU_STOPPED);
}

static void calls_that_do_not_fit_are_named_and_nobody_else(void)
{
	play_all(WORLD_MISMATCH);
}

static void a_broken_network_blames_nobody(void)
{
	play_all(WORLD_FABRIC);
}

static void a_rank_that_was_killed_is_suspected_at_most(void)
{
	play_all(WORLD_KILLED);
}

static const struct test tests[] = {
	TEST(hosts_that_stall_are_named_and_nobody_else),
	TEST(gpus_that_stop_are_named_and_nobody_else),
	TEST(calls_that_do_not_fit_are_named_and_nobody_else),
	TEST(a_broken_network_blames_nobody),
	TEST(a_rank_that_was_killed_is_suspected_at_most),
};

TEST_SUITE(tests);
