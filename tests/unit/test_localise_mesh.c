/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often the right link is named on a simulated host with 2 % noise. The full check:
 * ASSAY_FULL=1 ASSAY_SEEDS=200 tests/unit/judge localise_mesh, some minutes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/judge/localise.h"
#include "tests/unit/mesh.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

#define NOISE 0.02

enum { SEEDS = 2, SEEDS_FULL = 200, CLEAN = 100, CLEAN_FULL = 2000, AMBIGUOUS_MAX = 4 };

/* Of all pairs of links, which take minutes: ASSAY_SEEDS asks for more. */
enum { PAIR_SEEDS_FULL = 20 };

static const double residuals[] = { 0.80, 0.75, 0.50, 0.25 };

static size_t seeds(void)
{
	return test_times(SEEDS_FULL, SEEDS);
}

/* A host with some links at a part of their capacity, localised. */
static void run(const struct mesh *sick, bool with_reference, uint64_t seed, struct localised *ret)
{
	struct random chance = random_seeded(seed);
	struct mesh good = mesh_make();
	struct report report = report_make(), reference = report_make();

	mesh_measure(sick, NOISE, &chance, true, &report);
	if (with_reference)
		mesh_measure(&good, NOISE, &chance, true, &reference);
	localise(&(struct localise_input){ .samples = { report.samples, report.n_samples },
					   .reference = { reference.samples, reference.n_samples } },
		 ret);
	report_release(&report);
	report_release(&reference);
}

static bool names(const struct localised *l, const char *id)
{
	size_t i;

	for (i = 0; i < l->n; i++) {
		if (streq(l->links[i].link, id))
			return true;
	}
	return false;
}

static bool mentions(const struct localised *l, const char *id)
{
	size_t i, j;

	for (i = 0; i < l->n; i++) {
		for (j = 0; l->links[i].ambiguous && l->links[i].ambiguous[j]; j++) {
			if (streq(l->links[i].ambiguous[j], id))
				return true;
		}
	}
	return names(l, id);
}

static size_t count_mentioned(const struct localised *l)
{
	size_t n = l->n, i;

	for (i = 0; i < l->n; i++)
		n += l->links[i].ambiguous ? strv_len(l->links[i].ambiguous) : 0;
	return n;
}

/* Is one of these links the one named, or among those that it cannot be told from? */
static bool is_of(const struct localised_link *l, const struct mesh *sick, const size_t *links,
		  size_t n)
{
	size_t i, j;

	for (i = 0; i < n; i++) {
		const char *id = sick->id[links[i]];

		if (streq(l->link, id))
			return true;
		for (j = 0; l->ambiguous && l->ambiguous[j]; j++) {
			if (streq(l->ambiguous[j], id))
				return true;
		}
	}
	return false;
}

/* Is a link named, with none of the slow ones beside it, that is not slow? */
static bool accuses(const struct localised *l, const struct mesh *sick, const size_t *links,
		    size_t n)
{
	size_t i = 0;

	while (i < l->n && is_of(&l->links[i], sick, links, n))
		i++;
	return i < l->n;
}

struct tally {
	size_t runs, exact, innocent, silent;
};

static void add_single(size_t link, double residual, bool with_reference, uint64_t seed,
		       struct tally *tally)
{
	struct mesh sick = mesh_make();
	struct localised found;

	sick.capacity[link] *= residual;
	run(&sick, with_reference, seed, &found);
	tally->runs++;
	tally->exact += found.n == 1 && streq(found.links[0].link, sick.id[link]);
	tally->silent += found.n == 0;
	tally->innocent += accuses(&found, &sick, &link, 1);
	localised_release(&found);
}

static struct tally singles(bool with_reference, size_t first, size_t end, double residual)
{
	struct tally tally = { 0 };
	uint64_t seed;
	size_t link;

	for (seed = 0; seed < seeds(); seed++) {
		for (link = first; link < end; link++)
			add_single(link, residual, with_reference, seed * 1000 + link, &tally);
	}
	return tally;
}

static void a_slow_link_is_named(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(residuals); i++) {
		struct tally t = singles(true, 0, MESH_MEMORY, residuals[i]);

		printf("  one link at %2.0f %%: exact %zu of %zu, an innocent alone %zu\n",
		       residuals[i] * 100, t.exact, t.runs, t.innocent);
		CHECK(t.exact * 100 >= t.runs * 99);
		CHECK(t.innocent * 100 <= t.runs);
	}
}

static void without_a_reference_no_innocent_is_named(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(residuals); i++) {
		struct tally t = singles(false, 0, MESH_MEMORY, residuals[i]);

		printf("  no reference, one link at %2.0f %%: exact %zu of %zu, none %zu, "
		       "an innocent alone %zu\n",
		       residuals[i] * 100, t.exact, t.runs, t.silent, t.innocent);
		CHECK(t.exact + t.silent >= t.runs * 99 / 100);
		CHECK(t.innocent * 100 <= t.runs);
	}
}

static void a_slow_memory_is_named_by_its_group(void)
{
	struct tally t = singles(true, MESH_MEMORY, MESH_LINKS, 0.5);

	printf("  a memory at 50 %%: exact %zu of %zu\n", t.exact, t.runs);
	CHECK(t.exact * 100 >= t.runs * 99);
}

struct pair_tally {
	size_t runs, exact, within, innocent;
};

static void add_pair(const size_t *pair, bool with_reference, uint64_t seed, struct pair_tally *t)
{
	struct mesh sick = mesh_make();
	const char *a = sick.id[pair[0]], *b = sick.id[pair[1]];
	struct localised found;

	sick.capacity[pair[0]] *= 0.5;
	sick.capacity[pair[1]] *= 0.5;
	run(&sick, with_reference, seed, &found);
	t->runs++;
	t->exact += found.n == 2 && names(&found, a) && names(&found, b);
	t->within += mentions(&found, a) && mentions(&found, b) &&
		     count_mentioned(&found) <= AMBIGUOUS_MAX;
	t->innocent += accuses(&found, &sick, pair, 2);
	localised_release(&found);
}

static struct pair_tally pairs(bool with_reference)
{
	struct pair_tally t = { 0 };
	const char *asked = getenv("ASSAY_SEEDS");
	size_t rounds = asked ? strtoul(asked, NULL, 10) : test_times(PAIR_SEEDS_FULL, 1);
	size_t round, pair[2];

	for (round = 0; round < rounds; round++) {
		for (pair[0] = 0; pair[0] < MESH_LINKS; pair[0]++) {
			for (pair[1] = pair[0] + 1; pair[1] < MESH_LINKS; pair[1]++)
				add_pair(pair, with_reference,
					 round * 100000 + pair[0] * 100 + pair[1], &t);
		}
	}
	printf("  %stwo links at 50 %%: both exact %zu of %zu, within the named and ambiguous "
	       "%zu, an innocent alone %zu\n",
	       with_reference ? "" : "no reference, ", t.exact, t.runs, t.within, t.innocent);
	return t;
}

static void two_slow_links_are_named(void)
{
	struct pair_tally t = pairs(true);

	CHECK(t.exact * 100 >= t.runs * 80);
	CHECK(t.within * 100 >= t.runs * 95);
	CHECK(t.innocent * 100 <= t.runs);
}

static void two_without_a_reference_accuse_no_innocent(void)
{
	struct pair_tally t = pairs(false);

	CHECK(t.innocent * 100 <= t.runs);
}

static void a_clean_host_has_no_slow_link(void)
{
	size_t n = test_times(CLEAN_FULL, CLEAN), named[2] = { 0 }, seed, way;
	struct mesh good = mesh_make();
	struct localised found;

	for (seed = 0; seed < n; seed++) {
		for (way = 0; way < ARRAY_SIZE(named); way++) {
			run(&good, way == 1, 7000000 + seed, &found);
			named[way] += found.n > 0;
			localised_release(&found);
		}
	}
	printf("  clean: named %zu of %zu without a reference, %zu with one\n", named[0], n,
	       named[1]);
	CHECK_EQ(named[0], 0);
	CHECK_EQ(named[1], 0);
}

static const struct test tests[] = {
	TEST(a_slow_link_is_named),
	TEST(without_a_reference_no_innocent_is_named),
	TEST(a_slow_memory_is_named_by_its_group),
	TEST(two_slow_links_are_named),
	TEST(two_without_a_reference_accuse_no_innocent),
	TEST(a_clean_host_has_no_slow_link),
};

TEST_SUITE(tests);
