/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices from other tools, without a good host to compare with: endpoints by device name, links
 * with meaningless names, no class, missing lines. No good link may be named because of that.
 */
#include <stdio.h>

#include "lib/base/xalloc.h"
#include "lib/judge/localise.h"
#include "tests/unit/mesh.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

#define NOISE 0.02

enum { CLEAN = 20, CLEAN_FULL = 500, A_NIC = 0, A_GPU = 9, A_SWITCH = 18 };

/* What a line says of its ends. */
enum ends { BOTH_KINDS, BY_DEVICE, NO_ENDS };

static const struct manner {
	const char *words;
	enum ends ends;
	bool classless, nameless;
} manners[] = {
	{ "as the probe", BOTH_KINDS, false, false },
	{ "ends by device", BY_DEVICE, false, false },
	{ "no ends", NO_ENDS, false, false },
	{ "no class", BOTH_KINDS, true, false },
	{ "links without a meaning", BOTH_KINDS, false, true },
	{ "neither class nor meaning", BOTH_KINDS, true, true },
	{ "ends by device, neither class nor meaning", BY_DEVICE, true, true },
	{ "nothing but subject and path", NO_ENDS, true, true },
};

static void replace(char **text, char *with)
{
	free(*text);
	*text = with;
}

/* Any name will do for a link, as long as it is the same one each time. */
static unsigned hash_of(const char *text)
{
	unsigned hash = 5381;

	while (*text)
		hash = hash * 33 ^ (unsigned char)*text++;
	return hash;
}

static void say(const struct manner *manner, struct report *r)
{
	size_t i, j;

	for (i = 0; i < r->n_samples; i++) {
		struct sample *s = &r->samples[i];

		if (manner->classless)
			replace(&s->locality, NULL);
		if (manner->ends == BY_DEVICE)
			replace(&s->from, localise_start(s));
		if (manner->ends == NO_ENDS) {
			replace(&s->from, NULL);
			replace(&s->to, NULL);
		}
		for (j = 0; manner->nameless && s->path[j]; j++)
			replace(&s->path[j], xasprintf("%08x", hash_of(s->path[j])));
	}
}

/* One link at a part of its capacity, MESH_LINKS: none; told in this manner. */
static struct localised run(const struct manner *manner, size_t link, double part, uint64_t seed)
{
	CLEANUP(report_release) struct report r = report_make();
	struct random chance = random_seeded(seed);
	struct mesh mesh = mesh_make();
	struct localised found;

	if (link < MESH_LINKS)
		mesh.capacity[link] *= part;
	mesh_measure(&mesh, NOISE, &chance, true, &r);
	say(manner, &r);
	localise(&(struct localise_input){ .samples = { r.samples, r.n_samples } }, &found);
	return found;
}

static void a_slow_link_is_named_however_it_is_told(void)
{
	static const size_t slow[] = { A_NIC, A_GPU, A_SWITCH };
	const struct mesh mesh = mesh_make();
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(manners); i++) {
		for (j = 0; j < ARRAY_SIZE(slow); j++) {
			const char *plain = mesh.id[slow[j]];
			CLEANUP(freep)
			char *id = manners[i].nameless ? xasprintf("%08x", hash_of(plain))
						       : xstrdup(plain);
			struct localised found = run(&manners[i], slow[j], 0.5, 10 * i + j);
			bool exact = found.n == 1 && streq(found.links[0].link, id);

			if (!exact)
				printf("  %s, %s at half: %zu named\n", manners[i].words, plain,
				       found.n);
			CHECK(exact);
			localised_release(&found);
		}
	}
}

static void a_good_host_stays_good_however_it_is_told(void)
{
	size_t n = test_times(CLEAN_FULL, CLEAN), i, seed;

	for (i = 0; i < ARRAY_SIZE(manners); i++) {
		size_t named = 0;

		for (seed = 0; seed < n; seed++) {
			struct localised found = run(&manners[i], MESH_LINKS, 1, 1000 + seed);

			named += found.n > 0;
			localised_release(&found);
		}
		if (named > 0)
			printf("  %s: named %zu of %zu\n", manners[i].words, named, n);
		CHECK_EQ(named, 0);
	}
}

/* The second RNIC's lines to the first memory: of `r`, as if the probe had never sent them. */
static void lose(struct report *r)
{
	size_t i;

	for (i = 0; i < r->n_samples; i++) {
		if (streq(r->samples[i].subject, "mlx5_1:1>numa:0")) {
			strv_free(r->samples[i].path);
			r->samples[i].path = NULL;
		}
	}
}

/* As if the second RNIC had been in use whenever its turn came. */
static void disturb(struct report *r)
{
	size_t i;

	for (i = 0; i < r->n_samples; i++) {
		if (streq(r->samples[i].subject, "mlx5_1:1>numa:0"))
			r->samples[i].state = SAMPLE_BUSY;
	}
}

/* Four at once are four at once, also where a line of the four is missing on one of the hosts. */
static void who_was_measured_beside_counts_without_its_line(void)
{
	static void (*const spoil[])(struct report *) = { lose, disturb };
	size_t i, side;

	for (i = 0; i < 2 * ARRAY_SIZE(spoil); i++) {
		CLEANUP(report_release) struct report r = mesh_report(MESH_MEMORY, 0.5, i);
		CLEANUP(report_release) struct report good = mesh_report(MESH_LINKS, 1, 10 + i);
		struct localised found;

		side = i / ARRAY_SIZE(spoil);
		spoil[i % ARRAY_SIZE(spoil)](side ? &r : &good);
		localise(&(struct localise_input){ .samples = { r.samples, r.n_samples },
						   .reference = { good.samples, good.n_samples } },
			 &found);
		CHECK_EQ(found.n, 1);
		if (found.n == 1) {
			CHECK_STR(found.links[0].link, "numa:0^numa:0");
			CHECK_NEAR(found.links[0].ratio, 0.5, 0.05);
		}
		localised_release(&found);
	}
}

/*
 * A switch is on half of the paths between GPUs and RNICs of a socket, and with two lost of the
 * others on more: the median is then what it lets through, and what it slows are the few cells to
 * the memory. What these lose is what it takes, however many lose nothing to speak of.
 */
static void what_most_of_a_kind_cross_is_told_by_the_others(void)
{
	size_t n = test_times(CLEAN_FULL, CLEAN), exact = 0, seed;

	for (seed = 0; seed < n; seed++) {
		CLEANUP(report_release) struct report r = mesh_report(A_SWITCH, 0.8, seed);
		const struct mesh mesh = mesh_make();
		struct localised found;
		size_t i;

		for (i = 0; i < r.n_samples; i++) {
			if (streq(r.samples[i].subject, "mlx5_0:1>gpu:2") ||
			    streq(r.samples[i].subject, "mlx5_0:1>gpu:3"))
				r.samples[i].state = SAMPLE_BUSY;
		}
		localise(&(struct localise_input){ .samples = { r.samples, r.n_samples } }, &found);
		exact += found.n == 1 && streq(found.links[0].link, mesh.id[A_SWITCH]);
		localised_release(&found);
	}
	printf("  a switch at 80 %%, two of the others lost: exact %zu of %zu\n", exact, n);
	CHECK(exact * 100 >= n * 99);
}

static void set_value(struct report *r, const char *subject, double value)
{
	size_t i;

	for (i = 0; i < r->n_samples; i++) {
		if (streq(r->samples[i].subject, subject))
			r->samples[i].value = value;
	}
}

static void forget(struct report *r, const char *subject)
{
	size_t i;

	for (i = 0; i < r->n_samples; i++) {
		if (streq(r->samples[i].subject, subject))
			r->samples[i].state = SAMPLE_TIMEOUT;
	}
}

/*
 * A value of the good host that is 3 % high makes a cell look slow as often as it is measured: two
 * runs are not two witnesses. What remains of this GPU at full rate is one cell.
 */
static void a_cell_measured_again_is_no_second_witness(void)
{
	static const char *const others[] = { "mlx5_4:1>gpu:6", "mlx5_5:1>gpu:6", "mlx5_6:1>gpu:6" };
	size_t n = test_times(CLEAN_FULL, CLEAN), named = 0, seed, i;

	for (seed = 0; seed < n; seed++) {
		CLEANUP(report_release) struct report r = report_make();
		CLEANUP(report_release) struct report good = report_make();
		struct random chance = random_seeded(500 + seed);
		struct mesh mesh = mesh_make();
		struct localised found;

		mesh_measure(&mesh, NOISE, &chance, true, &good);
		for (i = 0; i < 4; i++)
			mesh_measure(&mesh, NOISE, &chance, true, &r);
		for (i = 0; i < ARRAY_SIZE(others); i++)
			forget(&r, others[i]);
		set_value(&good, "mlx5_7:1>gpu:6", 51.6e9);
		set_value(&r, "mlx5_7:1>gpu:6", 47.6e9);
		localise(&(struct localise_input){ .samples = { r.samples, r.n_samples },
						   .reference = { good.samples, good.n_samples } },
			 &found);
		named += found.n > 0;
		CHECK_EQ(found.cells, 80 - ARRAY_SIZE(others) + 8);
		localised_release(&found);
	}
	printf("  a high value of the good host: named %zu of %zu\n", named, n);
	CHECK(named * 20 <= n);
}

static const struct test tests[] = {
	TEST(a_slow_link_is_named_however_it_is_told),
	TEST(a_good_host_stays_good_however_it_is_told),
	TEST(who_was_measured_beside_counts_without_its_line),
	TEST(what_most_of_a_kind_cross_is_told_by_the_others),
	TEST(a_cell_measured_again_is_no_second_witness),
};

TEST_SUITE(tests);
