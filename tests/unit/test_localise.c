/* SPDX-License-Identifier: Apache-2.0 */
/* Small matrices whose result is obvious. */
#include <math.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/localise.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

enum { LINKS_OF_CELL = 4 };

struct cell {
	const char *subject;
	double value, good;
	const char *links[LINKS_OF_CELL];
};

static struct sample *put(struct report *r, const char *check, const struct cell *cell, double value)
{
	struct sample *s = report_put(r, check, cell->subject, value);
	size_t n;

	s->path = xcalloc(LINKS_OF_CELL + 1, sizeof(char *));
	for (n = 0; n < LINKS_OF_CELL && cell->links[n]; n++)
		s->path[n] = xstrdup(cell->links[n]);
	return s;
}

static struct localised solve(const struct report *r, const struct report *reference)
{
	struct localised found;
	struct localise_input input = { .samples = { r->samples, r->n_samples } };

	if (reference)
		input.reference = (struct sample_list){ reference->samples, reference->n_samples };
	localise(&input, &found);
	return found;
}

/* Two NICs and two ends below one switch each: the uplink of the first is half. */
static const struct cell two_switches[] = {
	{ "n0>m", 20e9, 50e9, { "n0^s0", "s0^r", "r^m" } },
	{ "n1>m", 20.2e9, 50e9, { "n1^s0", "s0^r", "r^m" } },
	{ "n2>m", 50e9, 50e9, { "n2^s1", "s1^r", "r^m" } },
	{ "n3>m", 49.8e9, 50e9, { "n3^s1", "s1^r", "r^m" } },
	{ "n0>g0", 50e9, 50e9, { "n0^s0", "g0^s0" } },
	{ "n1>g0", 49.9e9, 50e9, { "n1^s0", "g0^s0" } },
	{ "n2>g0", 20.1e9, 50e9, { "n2^s1", "s1^r", "s0^r", "g0^s0" } },
	{ "n3>g0", 20e9, 50e9, { "n3^s1", "s1^r", "s0^r", "g0^s0" } },
};

static void fill(const struct cell *cells, size_t n, struct report *r, struct report *good)
{
	size_t i;

	for (i = 0; i < n; i++) {
		(void)put(r, "loopback.write_bw", &cells[i], cells[i].value);
		(void)put(good, "loopback.write_bw", &cells[i], cells[i].good);
	}
}

static void the_shared_link_is_named_with_its_cells(void)
{
	struct report r = report_make(), good = report_make();
	struct localised found;

	fill(two_switches, ARRAY_SIZE(two_switches), &r, &good);
	found = solve(&r, &good);
	CHECK_EQ(found.n, 1);
	if (found.n == 1) {
		CLEANUP(freep) char *sentence = localised_sentence(&found.links[0]);

		CHECK_STR(found.links[0].link, "s0^r");
		CHECK_NEAR(found.links[0].ratio, 0.4, 0.01);
		CHECK_EQ(strv_len(found.links[0].supporting), 4);
		CHECK(!found.links[0].contradicting);
		CHECK(!found.links[0].ambiguous);
		CHECK(found.links[0].confidence > 0.99);
		CHECK_STR(sentence,
			  "s0^r: 20.1 of 50.0 GB/s, seen on 4 paths, contradicted by none");
	}
	localised_release(&found);
	report_release(&r);
	report_release(&good);
}

static void links_that_always_go_together_are_told_as_ambiguous(void)
{
	static const struct cell cells[] = {
		{ "a>m", 20e9, 50e9, { "a^s", "s^r", "r^m" } },
		{ "b>m", 20e9, 50e9, { "b^s", "s^r", "r^m" } },
		{ "c>m", 50e9, 50e9, { "c^m" } },
	};
	struct report r = report_make(), good = report_make();
	struct localised found;

	fill(cells, ARRAY_SIZE(cells), &r, &good);
	found = solve(&r, &good);
	CHECK_EQ(found.n, 1);
	if (found.n == 1) {
		CHECK_STR(found.links[0].link, "r^m");
		CHECK_EQ(strv_len(found.links[0].ambiguous), 1);
		CHECK_STR(found.links[0].ambiguous[0], "s^r");
		CHECK(found.links[0].confidence < 0.6);
	}
	localised_release(&found);
	report_release(&r);
	report_release(&good);
}

/* What one matrix leaves open another may tell: there is one slow link in both. */
static void a_link_that_one_matrix_tells_is_meant_by_the_other(void)
{
	static const struct cell open[] = {
		{ "a>m", 20e9, 50e9, { "a^s", "s^r", "r^m" } },
		{ "b>m", 20e9, 50e9, { "b^s", "s^r", "r^m" } },
		{ "c>m", 50e9, 50e9, { "c^m" } },
	};
	static const struct {
		struct cell cell;
		const char *link;
	} rows[] = {
		{ { "d>m", 50e9, 50e9, { "d^t", "t^r", "r^m" } }, "s^r" },
		{ { "d>m", 20e9, 50e9, { "d^t", "t^r", "r^m" } }, "r^m" },
	};
	static const double part[] = { 1, 0.9, 1.1 }; /* which of them is the lower one */
	size_t i, j, k;

	for (i = 0; i < 2 * ARRAY_SIZE(rows) * ARRAY_SIZE(part); i++) {
		const size_t row = i % 2, first = i / 2 % 2;
		const char *checks[] = { "loopback.write_bw", "loopback.read_bw" };
		struct report r = report_make(), good = report_make();
		struct localised found;

		for (j = 0; j < 2 * ARRAY_SIZE(open) + 1; j++) {
			const bool is_more = j == 2 * ARRAY_SIZE(open);
			const struct cell *c = is_more ? &rows[row].cell : &open[j / 2];
			const char *check = checks[is_more ? first : j % 2];
			double value = c->value;

			if (value < 30e9 && streq(check, checks[0]))
				value *= part[i / 4];
			(void)put(&r, check, c, value);
			(void)put(&good, check, c, c->good);
		}
		found = solve(&r, &good);
		CHECK_EQ(found.n, 1);
		for (k = 0; k < found.n; k++) {
			CHECK_STR(found.links[k].link, rows[row].link);
			CHECK(!found.links[k].ambiguous);
			CHECK_EQ(found.links[k].n_cells, row ? 5 : 4);
		}
		localised_release(&found);
		report_release(&r);
		report_release(&good);
	}
}

static void one_disturbed_cell_accuses_nobody(void)
{
	struct report r = report_make(), good = report_make();
	struct localised found;
	size_t i;

	fill(two_switches, ARRAY_SIZE(two_switches), &r, &good);
	for (i = 0; i < r.n_samples; i++)
		r.samples[i].value = i == 2 ? 10e9 : 50e9;
	found = solve(&r, &good);
	for (i = 0; i < found.n; i++)
		CHECK(!streq(found.links[i].link, "s1^r") && !streq(found.links[i].link, "r^m"));
	localised_release(&found);
	report_release(&r);
	report_release(&good);
}

/* What says nothing about how fast a path is: it must not change the answer. */
static void only_measured_rates_speak(void)
{
	struct report r = report_make(), good = report_make();
	struct localised found;
	struct sample *s;

	fill(two_switches, ARRAY_SIZE(two_switches), &r, &good);
	s = put(&r, "loopback.write_lat", &two_switches[2], 2e-6);
	s->better = BETTER_LOWER;
	s = put(&r, "loopback.write_bw", &two_switches[2], NAN);
	s->state = SAMPLE_FOREIGN_TRAFFIC;
	(void)report_put(&r, "gemm.rate", "gpu:0", 1e12); /* no path */
	found = solve(&r, &good);
	CHECK_EQ(found.n, 1);
	CHECK_EQ(found.cells, ARRAY_SIZE(two_switches));
	CHECK_EQ(found.without, 0);
	localised_release(&found);
	report_release(&r);
	report_release(&good);
}

static void a_dead_link_is_named_too(void)
{
	struct report r = report_make(), good = report_make();
	struct localised found;
	size_t i;

	fill(two_switches, ARRAY_SIZE(two_switches), &r, &good);
	for (i = 0; i < r.n_samples; i++)
		r.samples[i].value = r.samples[i].value < 30e9 ? 0 : 50e9;
	found = solve(&r, &good);
	CHECK_EQ(found.n, 1);
	if (found.n == 1)
		CHECK_STR(found.links[0].link, "s0^r");
	localised_release(&found);
	report_release(&r);
	report_release(&good);
}

static void cells_that_the_reference_has_not_are_counted(void)
{
	struct report r = report_make(), good = report_make();
	struct localised found;

	fill(two_switches, ARRAY_SIZE(two_switches), &r, &good);
	(void)put(&r, "loopback.read_bw", &two_switches[0], 1e9);
	found = solve(&r, &good);
	CHECK_EQ(found.without, 1);
	CHECK_EQ(found.n, 1);
	localised_release(&found);
	report_release(&r);
	report_release(&good);
}

/* A link that is slow one way only is found in that matrix and told once. */
static void each_way_is_explained_by_itself(void)
{
	struct report r = report_make(), good = report_make();
	struct localised found;
	size_t i;

	fill(two_switches, ARRAY_SIZE(two_switches), &r, &good);
	for (i = 0; i < ARRAY_SIZE(two_switches); i++) {
		(void)put(&r, "loopback.read_bw", &two_switches[i], two_switches[i].good);
		(void)put(&good, "loopback.read_bw", &two_switches[i], two_switches[i].good);
	}
	found = solve(&r, &good);
	CHECK_EQ(found.n, 1);
	if (found.n == 1) {
		CHECK_STR(found.links[0].check, "loopback.write_bw");
		CHECK(!found.links[0].contradicting);
	}
	localised_release(&found);
	report_release(&r);
	report_release(&good);
}

/* It is said, and not called good. */
static void what_is_too_large_to_be_explained_is_counted(void)
{
	enum { CELLS = 80, LINKS = 60 }; /* each has its own */
	struct report r = report_make();
	struct localised found;
	size_t i, j;

	for (i = 0; i < CELLS; i++) {
		CLEANUP(freep) char *subject = xasprintf("a%zu>b", i);
		struct sample *s = report_put(&r, "loopback.write_bw", subject, 50e9);

		s->path = xcalloc(LINKS + 1, sizeof(char *));
		for (j = 0; j < LINKS; j++)
			s->path[j] = xasprintf("l%zu.%zu^m", i, j);
	}
	found = solve(&r, NULL);
	CHECK_EQ(found.n, 0);
	CHECK_EQ(found.cells, CELLS);
	CHECK_EQ(found.beyond, CELLS);
	localised_release(&found);
	report_release(&r);
}

/* In by it and out by it again. */
static void a_link_that_is_crossed_twice_counts_once(void)
{
	struct report r = report_make(), good = report_make();
	struct localised found;
	size_t i;

	fill(two_switches, ARRAY_SIZE(two_switches), &r, &good);
	for (i = 0; i < r.n_samples; i++) {
		char **path = r.samples[i].path;
		size_t n = strv_len(path);

		path = xrealloc(path, n + 2, sizeof(*path));
		path[n] = xstrdup(path[n > 2]);
		path[n + 1] = NULL;
		r.samples[i].path = path;
	}
	found = solve(&r, &good);
	CHECK_EQ(found.n, 1);
	if (found.n == 1) {
		CHECK_STR(found.links[0].link, "s0^r");
		CHECK_EQ(strv_len(found.links[0].supporting), 4);
	}
	localised_release(&found);
	report_release(&r);
	report_release(&good);
}

static void nothing_in_gives_nothing_out(void)
{
	struct report r = report_make();
	struct localised found = solve(&r, NULL);
	CLEANUP(json_freep) json_t *value = localised_encode(&found);
	CLEANUP(freep) char *text = json_line(value);

	CHECK_STR(text, "{\"v\":1,\"kind\":\"localise\",\"links\":[],\"cells\":0,"
			"\"without_reference\":0,\"beyond_limits\":0}");
	localised_release(&found);
	report_release(&r);
}

static const struct test tests[] = {
	TEST(the_shared_link_is_named_with_its_cells),
	TEST(links_that_always_go_together_are_told_as_ambiguous),
	TEST(a_link_that_one_matrix_tells_is_meant_by_the_other),
	TEST(one_disturbed_cell_accuses_nobody),
	TEST(only_measured_rates_speak),
	TEST(a_dead_link_is_named_too),
	TEST(cells_that_the_reference_has_not_are_counted),
	TEST(each_way_is_explained_by_itself),
	TEST(what_is_too_large_to_be_explained_is_counted),
	TEST(a_link_that_is_crossed_twice_counts_once),
	TEST(nothing_in_gives_nothing_out),
};

TEST_SUITE(tests);
