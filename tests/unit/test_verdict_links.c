/* SPDX-License-Identifier: Apache-2.0 */
/* The link that slows cells, among the findings of a host. */
#include <math.h>
#include <stdlib.h>

#include "lib/base/pool.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/localise.h"
#include "lib/judge/reference.h"
#include "lib/judge/verdict_item.h"
#include "tests/unit/mesh.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

enum { SEEDS = 4, SEEDS_FULL = 100, CLEAN_FULL = 2000, CLEAN = 100 };

/* The uplink of the second switch of the second socket. */
enum { UPLINK = MESH_RNICS + MESH_GPUS + 3 };

/* A fleet that knows what each cell of a good host reaches. */
static bool fleet_of(void *context, const struct sample *s, const struct measure *m,
		     struct expectation *ret)
{
	const struct report *good = context;
	struct center center = { .sigma = 0, .n = 15 };
	size_t i;

	for (i = 0; i < good->n_samples; i++) {
		if (streq(good->samples[i].subject, s->subject) &&
		    !good->samples[i].with == !s->with) {
			center.median = good->samples[i].value;
			return expectation_from_fleet(m, &center, ret);
		}
	}
	return false;
}

static size_t count_links(const struct verdict *v)
{
	size_t n = 0, i;

	for (i = 0; i < v->n_items; i++)
		n += verdict_item_is_link(&v->items[i]);
	return n;
}

/* Links whose name is not `id`. */
static size_t count_innocents(const struct verdict *v, const char *id)
{
	size_t n = 0, i;

	for (i = 0; i < v->n_items; i++)
		n += verdict_item_is_link(&v->items[i]) && !streq(v->items[i].subject, id);
	return n;
}

static void the_link_comes_before_its_cells(void)
{
	CLEANUP(report_release) struct report r = mesh_report(UPLINK, 0.5, 1);
	const struct mesh mesh = mesh_make();
	const struct verdict *v = judged(&r, NULL);
	size_t pointing = 0, i;

	CHECK_EQ(v->level, VERDICT_FAIL);
	CHECK_STR(v->items[0].check, "loopback.link");
	CHECK_STR(v->items[0].subject, mesh.id[UPLINK]);
	CHECK_EQ(v->items[0].level, VERDICT_FAIL);
	CHECK_NEAR(v->items[0].value, 0.5 * mesh.capacity[UPLINK], 1e9);
	CHECK(!v->items[0].link);
	CHECK_EQ(count_links(v), 1);
	for (i = 1; i < v->n_items; i++) {
		const struct verdict_item *item = &v->items[i];

		CHECK(item->level == VERDICT_PASS || verdict_explained(v, item));
		pointing += item->link != NULL;
	}
	CHECK(pointing >= 28);
	/* The sentence of the host is that of the link: its cells are no findings beside it. */
	CHECK_HAS(v->sentence, v->items[0].sentence);
	CHECK(!strstr(v->sentence, "more"));
	CHECK_HAS(v->items[1].sentence, "explains it");
}

static int worst_pointing(const struct verdict *v, const char *id)
{
	int worst = -1;
	size_t i;

	for (i = 0; i < v->n_items; i++) {
		if (streq(v->items[i].link, id))
			worst = MAX(worst, v->items[i].level);
	}
	return worst;
}

struct tally {
	size_t runs, named, innocent, harsher;
};

static void add(const struct verdict *v, const char *id, struct tally *t)
{
	size_t i;

	t->runs++;
	t->innocent += count_innocents(v, id) > 0;
	for (i = 0; i < v->n_items; i++) {
		const struct verdict_item *item = &v->items[i];

		if (!verdict_item_is_link(item))
			continue;
		t->named += streq(item->subject, id);
		t->harsher += item->level >
				      MAX(worst_pointing(v, item->subject), (int)VERDICT_WARN) ||
			      worst_pointing(v, item->subject) < VERDICT_INCONCLUSIVE;
	}
}

/* Every link, at several residuals, without any reference and against the fleet. */
static struct tally sweep(double residual, bool with_fleet)
{
	CLEANUP(report_release) struct report good = mesh_report(MESH_LINKS, 1, 4711);
	const struct judge_inputs inputs = { .fleet = with_fleet ? fleet_of : NULL,
					     .fleet_context = &good };
	const struct mesh mesh = mesh_make();
	struct tally t = { 0 };
	size_t link, seed;

	for (seed = 0; seed < test_times(SEEDS_FULL, SEEDS); seed++) {
		for (link = 0; link < MESH_MEMORY; link++) {
			struct report r = mesh_report(link, residual, seed * 100 + link);

			add(judged(&r, &inputs), mesh.id[link], &t);
			report_release(&r);
		}
	}
	printf("  a link at %2.0f %%, %s: named %zu of %zu, an innocent %zu\n", residual * 100,
	       with_fleet ? "with a fleet" : "alone", t.named, t.runs, t.innocent);
	return t;
}

static void a_link_is_as_bad_as_its_cells_and_no_innocent_is_named(void)
{
	static const double residuals[] = { 0.25, 0.5, 0.75, 0.85 };
	size_t i, way;

	for (i = 0; i < ARRAY_SIZE(residuals); i++) {
		for (way = 0; way < 2; way++) {
			struct tally t = sweep(residuals[i], way);

			CHECK_EQ(t.harsher, 0);
			CHECK(t.innocent * 100 <= t.runs);
			/* Uplinks and GPU links have 7 % to spare over the RNICs. */
			if (way && residuals[i] < 0.8)
				CHECK(t.named * 100 >= t.runs * 99);
		}
	}
}

static void a_clean_host_has_no_link(void)
{
	size_t n = test_times(CLEAN_FULL, CLEAN), i;
	CLEANUP(report_release) struct report good = mesh_report(MESH_LINKS, 1, 4711);
	const struct judge_inputs inputs = { .fleet = fleet_of, .fleet_context = &good };

	for (i = 0; i < n; i++) {
		struct report r = mesh_report(MESH_LINKS, 1, 900000 + i);

		CHECK_EQ(count_links(judged(&r, NULL)), 0);
		CHECK_EQ(count_links(judged(&r, &inputs)), 0);
		report_release(&r);
	}
}

/* All cells between the sockets are slow: only others can tell that they should not be. */
static void a_whole_class_is_named_against_the_fleet(void)
{
	CLEANUP(report_release) struct report good = mesh_report(MESH_LINKS, 1, 4711);
	CLEANUP(report_release) struct report r = mesh_report(MESH_SOCKET_LINK, 0.5, 5);
	const struct judge_inputs inputs = { .fleet = fleet_of, .fleet_context = &good };
	const struct mesh mesh = mesh_make();
	const struct verdict *v = judged(&r, &inputs);

	CHECK_STR(v->items[0].subject, mesh.id[MESH_SOCKET_LINK]);
	CHECK_EQ(v->items[0].level, VERDICT_FAIL);
	CHECK_EQ(v->items[0].source, SOURCE_FLEET);
	CHECK_EQ(count_links(judged(&r, NULL)), 0);
}

static void what_the_probe_itself_finds_bad_keeps_its_own_finding(void)
{
	CLEANUP(report_release) struct report r = mesh_report(UPLINK, 0.5, 1);
	struct sample *s = report_put(&r, "rnic.link_downed", "mlx5_1:1", 3);
	const struct verdict *v;

	s->ok = TRI_NO;
	v = judged(&r, NULL);
	CHECK_EQ(count_links(v), 1);
	CHECK_EQ(item_level(v, "rnic.link_downed", "mlx5_1:1"), VERDICT_FAIL);
	CHECK(!verdict_explained(v, item_find(v, "rnic.link_downed", "mlx5_1:1")));
	CHECK_HAS(v->sentence, "and 1 more");
}

static void a_verdict_in_a_pool_says_the_same(void)
{
	CLEANUP(report_release) struct report r = mesh_report(UPLINK, 0.5, 1);
	CLEANUP(pool_release) struct pool pool = { 0 };
	CLEANUP(verdict_release) struct verdict lent = { 0 };
	const struct verdict *own = judged(&r, NULL);
	const struct judge_inputs inputs = { .pool = &pool };
	size_t i;

	verdict_judge(&r, &inputs, &lent);
	CHECK_EQ(lent.n_items, own->n_items);
	CHECK_STR(lent.sentence, own->sentence);
	for (i = 0; i < own->n_items && i < lent.n_items; i++) {
		CHECK_STR(lent.items[i].subject, own->items[i].subject);
		CHECK_EQ(lent.items[i].level, own->items[i].level);
		CHECK(streq(lent.items[i].link, own->items[i].link));
	}
}

static void a_verdict_with_a_link_reads_as_it_was_written(void)
{
	CLEANUP(report_release) struct report r = mesh_report(UPLINK, 0.5, 1);
	const struct verdict *v = judged(&r, NULL);
	CLEANUP(json_freep) json_t *value = verdict_encode(v);
	CLEANUP(verdict_release) struct verdict back = { 0 };
	const struct jval root = jval_root(value, "verdict");

	CHECK_EQ(verdict_decode(&root, &back, NULL), 0);
	CHECK_STR(back.items[1].link, v->items[0].subject);
	CHECK(verdict_explained(&back, &back.items[1]));
	CHECK(!json_object_get(json_array_get(json_object_get(value, "items"), 0), "link"));
}

/* Someone's report: as many links as fit, each crossed by something slow. */
static void what_would_take_too_long_is_left_unexplained(void)
{
	CLEANUP(report_release) struct report r = report_make();
	size_t i, j;

	for (i = 0; i < 1000; i++) {
		char subject[32];
		struct sample *s;

		(void)snprintf(subject, sizeof(subject), "a:%zu>b:1", i);
		s = report_put(&r, "loopback.write_bw", subject, i % 4 ? 50e9 : 20e9);
		s->path = xcalloc(9, sizeof(char *));
		for (j = 0; j < 8; j++)
			s->path[j] = xasprintf("l%zu^m", (i * 7 + j * 13) % 500);
	}
	CHECK_EQ(count_links(judged(&r, NULL)), 0);
	CHECK_EQ(judged(&r, NULL)->level, VERDICT_FAIL);
}

/* Half of a kind is low: nobody is blamed by its peers, but one link explains them all. */
static void a_spread_that_a_link_explains_is_no_finding_beside_it(void)
{
	CLEANUP(report_release) struct report r = mesh_report(UPLINK, 0.5, 1);
	const struct verdict_item *spread;
	const struct verdict *v;
	size_t i;

	for (i = 0; i < r.n_samples; i++) {
		if (starts_with(r.samples[i].to, "numa:")) {
			free(r.samples[i].locality);
			r.samples[i].locality = xstrdup("phb");
		}
	}
	v = judged(&r, NULL);
	spread = item_find(v, "loopback.write_bw", "host1");
	CHECK(spread != NULL);
	CHECK_EQ(count_links(v), 1);
	CHECK(spread && verdict_explained(v, spread));
	CHECK(!strstr(v->sentence, "more"));
}

/* The localiser sees 8 % where the judge forgives 10: what no cell is bad by is not named. */
static void a_link_whose_cells_are_good_is_not_named(void)
{
	CLEANUP(report_release) struct report good = mesh_report(MESH_LINKS, 1, 4711);
	CLEANUP(report_release) struct report r = report_make();
	const struct judge_inputs inputs = { .fleet = fleet_of, .fleet_context = &good };
	struct random chance = random_seeded(3);
	struct mesh mesh = mesh_make();
	const struct verdict *v;
	struct localised found;

	mesh.capacity[UPLINK] *= 0.5;
	mesh.capacity[0] *= 0.92;
	mesh_measure(&mesh, 0.001, &chance, false, &r);
	v = judged(&r, &inputs);
	CHECK_EQ(count_links(v), 1);
	CHECK_STR(v->items[0].subject, mesh.id[UPLINK]);
	localise(&(struct localise_input){ .samples = { r.samples, r.n_samples },
					   .reference = { good.samples, good.n_samples } },
		 &found);
	CHECK_EQ(found.n, 2); /* else this test says nothing */
	localised_release(&found);
}

/* `n` links that all slow cells cross and no other: 0.19 is one of five. */
static void what_too_many_links_would_explain_is_not_named(void)
{
	static const struct {
		size_t n, named;
	} rows[] = { { 1, 1 }, { 2, 1 }, { 5, 1 }, { 6, 0 }, { 8, 0 } };
	size_t i, cell, link;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(report_release) struct report r = report_make();

		for (cell = 0; cell < 16; cell++) {
			char subject[32];
			struct sample *s;

			(void)snprintf(subject, sizeof(subject), "a:%zu>b:1", cell);
			s = report_put(&r, "loopback.write_bw", subject, cell < 3 ? 25e9 : 50e9);
			s->locality = xstrdup("node");
			s->path = xcalloc(rows[i].n + 2, sizeof(char *));
			s->path[0] = xasprintf("a:%zu^m", cell);
			for (link = 0; cell < 3 && link < rows[i].n; link++)
				s->path[1 + link] = xasprintf("l%zu^m", link);
		}
		CHECK_EQ(count_links(judged(&r, NULL)), rows[i].named);
		CHECK_EQ(judged(&r, NULL)->level, VERDICT_FAIL);
	}
}

static const struct test tests[] = {
	TEST(the_link_comes_before_its_cells),
	TEST(a_link_is_as_bad_as_its_cells_and_no_innocent_is_named),
	TEST(a_clean_host_has_no_link),
	TEST(a_whole_class_is_named_against_the_fleet),
	TEST(what_the_probe_itself_finds_bad_keeps_its_own_finding),
	TEST(a_verdict_in_a_pool_says_the_same),
	TEST(a_verdict_with_a_link_reads_as_it_was_written),
	TEST(what_would_take_too_long_is_left_unexplained),
	TEST(a_spread_that_a_link_explains_is_no_finding_beside_it),
	TEST(a_link_whose_cells_are_good_is_not_named),
	TEST(what_too_many_links_would_explain_is_not_named),
};

TEST_SUITE(tests, .end = judged_done);
