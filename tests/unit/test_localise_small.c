/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host of 8 cells, with no good one to compare with: 2 sockets, each with a switch, an RNIC of
 * 200 Gb/s and a GPU. Each kind has two cells, one of which is always the lower one: so little
 * information must not blame any link.
 */
#include <math.h>
#include <stdio.h>

#include "lib/base/xalloc.h"
#include "lib/judge/localise.h"
#include "tests/unit/random.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

#define GBIT 0.125e9 /* bytes per second */
#define NOISE 0.02

enum {
	SOCKETS = 2,
	ENDS = 2 * SOCKETS,
	LINKS = 11,
	PATH_MAX_LINKS = 8,
	SEEDS = 200,
	SEEDS_FULL = 1000
};

enum link {
	RNIC,
	GPU = RNIC + SOCKETS,
	SWITCH = GPU + SOCKETS,
	ROOT = SWITCH + SOCKETS,
	MEMORY = ROOT + SOCKETS,
	BETWEEN = MEMORY + SOCKETS
};

static const char *const ids[LINKS] = {
	"rnic:mlx5_0^switch:0", "rnic:mlx5_1^switch:1", "gpu:0^switch:0", "gpu:1^switch:1",
	"switch:0^root:0",	"switch:1^root:1",	"root:0^numa:0",  "root:1^numa:1",
	"numa:0^numa:0",	"numa:1^numa:1",	"numa:0^numa:1",
};

static const double capacities[LINKS] = { 200, 200, 215, 215, 215, 215, 215, 215, 900, 900, 150 };

/* From the RNIC of a socket to a GPU (0, 1) or a memory (2, 3). */
static size_t path_of(unsigned socket, unsigned end, unsigned ret[static PATH_MAX_LINKS])
{
	const unsigned to = end % SOCKETS;
	size_t n = 0;

	ret[n++] = RNIC + socket;
	if (end < SOCKETS && to == socket) {
		ret[n++] = GPU + to;
		return n;
	}
	ret[n++] = SWITCH + socket;
	ret[n++] = ROOT + socket;
	if (to != socket)
		ret[n++] = BETWEEN;
	if (end >= SOCKETS) {
		ret[n++] = MEMORY + to;
		return n;
	}
	ret[n++] = ROOT + to;
	ret[n++] = SWITCH + to;
	ret[n++] = GPU + to;
	return n;
}

static void measure(const double *capacity, struct random *chance, struct report *ret)
{
	unsigned path[PATH_MAX_LINKS], socket, end;
	size_t i;

	for (socket = 0; socket < SOCKETS; socket++) {
		for (end = 0; end < ENDS; end++) {
			const size_t n = path_of(socket, end, path);
			CLEANUP(freep)
			char *to = xasprintf("%s:%u", end < SOCKETS ? "gpu" : "numa", end % SOCKETS);
			CLEANUP(freep) char *subject = xasprintf("mlx5_%u:1>%s", socket, to);
			double value = INFINITY;
			struct sample *s;

			for (i = 0; i < n; i++)
				value = MIN(value, capacity[path[i]] * GBIT);
			s = report_put(ret, "loopback.write_bw", subject,
				       value * random_normal(chance, 1, NOISE));
			s->from = xasprintf("rnic:mlx5_%u", socket);
			s->to = TAKE(to);
			s->locality = xstrdup(end % SOCKETS != socket ? "sys"
					      : end < SOCKETS	      ? "pix"
								      : "node");
			s->path = xcalloc(n + 1, sizeof(char *));
			for (i = 0; i < n; i++)
				s->path[i] = xstrdup(ids[path[i]]);
		}
	}
}

/* Do the same cells cross both? Then nobody can tell them apart. */
static bool are_alike(unsigned a, const char *id)
{
	unsigned path[PATH_MAX_LINKS], socket, end;
	size_t i;

	for (socket = 0; socket < SOCKETS; socket++) {
		for (end = 0; end < ENDS; end++) {
			const size_t n = path_of(socket, end, path);
			bool has_a = false, has_id = false;

			for (i = 0; i < n; i++) {
				has_a = has_a || path[i] == a;
				has_id = has_id || streq(ids[path[i]], id);
			}
			if (has_a != has_id)
				return false;
		}
	}
	return true;
}

static bool is_innocent(const struct localised_link *l, unsigned slow)
{
	size_t i;

	for (i = 0; l->ambiguous && l->ambiguous[i]; i++) {
		if (are_alike(slow, l->ambiguous[i]))
			return false;
	}
	return !are_alike(slow, l->link);
}

struct tally {
	size_t runs, exact, innocent;
};

static struct tally try_links(double part)
{
	const size_t n = test_times(SEEDS_FULL, SEEDS);
	struct tally t = { 0 };
	unsigned slow;
	size_t seed, i;

	for (seed = 0; seed < n; seed++) {
		for (slow = 0; slow < MEMORY; slow++) {
			CLEANUP(report_release) struct report r = report_make();
			struct random chance = random_seeded(seed * LINKS + slow);
			double capacity[LINKS];
			struct localised found;
			bool innocent = false;

			memcpy(capacity, capacities, sizeof(capacity));
			capacity[slow] *= part;
			measure(capacity, &chance, &r);
			localise(&(struct localise_input){ .samples = { r.samples, r.n_samples } },
				 &found);
			for (i = 0; i < found.n; i++)
				innocent = innocent || is_innocent(&found.links[i], slow);
			t.runs++;
			t.exact += found.n == 1 && !innocent;
			t.innocent += innocent;
			localised_release(&found);
		}
	}
	printf("  one link at %.0f %%: exact %zu of %zu, an innocent %zu\n", part * 100, t.exact,
	       t.runs, t.innocent);
	return t;
}

static void half_a_link_is_named_and_a_lesser_loss_accuses_nobody(void)
{
	const struct tally little = try_links(0.8), half = try_links(0.5);

	CHECK(little.innocent * 200 <= little.runs);
	CHECK(half.innocent * 200 <= half.runs);
	CHECK(half.exact * 100 >= half.runs * 80);
}

static void a_good_host_has_no_slow_link(void)
{
	const size_t n = 10 * test_times(SEEDS_FULL, SEEDS);
	size_t named = 0, seed;

	for (seed = 0; seed < n; seed++) {
		CLEANUP(report_release) struct report r = report_make();
		struct random chance = random_seeded(1000000 + seed);
		struct localised found;

		measure(capacities, &chance, &r);
		localise(&(struct localise_input){ .samples = { r.samples, r.n_samples } }, &found);
		named += found.n > 0;
		localised_release(&found);
	}
	printf("  clean: named %zu of %zu\n", named, n);
	CHECK_EQ(named, 0);
}

static const struct test tests[] = {
	TEST(half_a_link_is_named_and_a_lesser_loss_accuses_nobody),
	TEST(a_good_host_has_no_slow_link),
};

TEST_SUITE(tests);
