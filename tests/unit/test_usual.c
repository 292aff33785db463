/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/usual.h"

#include <stdlib.h>

#include "controller/baseline.h"
#include "controller/rules.h"
#include "lib/xalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

enum { HOSTS = 40, CORES = 8, RUNS = 8 };

/* A fleet of good hosts that differ by 1.2 %, their cores by 2 %, each run by 1 %. */
struct fleet {
	struct baselines baselines;
	struct rules rules;
	struct random chance;
	double host[HOSTS], core[HOSTS][CORES];
	const struct verdict *last;
};

static void fleet_begin(struct fleet *f)
{
	size_t i, j;

	*f = (struct fleet){ .rules = { .policy = policy_init() }, .chance = random_seeded(3) };
	for (i = 0; i < HOSTS; i++) {
		f->host[i] = random_normal(&f->chance, 70, 0.84);
		for (j = 0; j < CORES; j++)
			f->core[i][j] = random_normal(&f->chance, 1, 0.02);
	}
}

static void fleet_end(struct fleet *f)
{
	baselines_release(&f->baselines);
	rules_release(&f->rules);
	judged_done();
}

/* One run: all cores at `whole`, the first besides at `one`. Names of its texts are new. */
static const struct verdict *run(struct fleet *f, size_t i, double whole, double one)
{
	struct report report = report_make();
	struct rules_view view = rules_view(&f->rules, &report, &f->baselines);
	struct judge_inputs inputs;
	double values[CORES];
	size_t j;

	free(report.node);
	report.node = xasprintf("host%zu", i);
	report.sku = xstrdup("sku-a");
	view.sku_name = report.sku;
	for (j = 0; j < CORES; j++)
		values[j] = f->host[i] * f->core[i][j] * whole * (j == 0 ? one : 1) *
			    random_normal(&f->chance, 1, 0.01);
	report_put_cores(&report, values, CORES);
	inputs = rules_inputs(&view);
	f->last = judged(&report, &inputs);
	baselines_learn(&f->baselines, &report, f->last, false);
	report_release(&report);
	return f->last;
}

static void learn(struct fleet *f, double slow_host)
{
	size_t i, r;

	for (r = 0; r < RUNS; r++) {
		for (i = 0; i < HOSTS; i++)
			(void)run(f, i, i == 0 ? slow_host : 1, 1);
	}
}

static int usual_of(const struct verdict *v, const char *subject)
{
	const struct verdict_item *item = item_find(v, "gemm.rate", subject);

	return item ? item->usual : -1;
}

static void a_part_that_becomes_slow_is_seen_by_what_it_was(void)
{
	CLEANUP(fleet_end) struct fleet f;
	size_t i, seen = 0;

	fleet_begin(&f);
	learn(&f, 1);
	for (i = 0; i < HOSTS; i++)
		seen += usual_of(run(&f, i, 1, 0.9), "cpu:0") == USUAL_DROPPED;
	CHECK(seen >= HOSTS - 2);
	/* What was low in that run has not become what is usual. */
	for (i = 0, seen = 0; i < HOSTS; i++)
		seen += usual_of(run(&f, i, 1, 0.9), "cpu:0") == USUAL_DROPPED;
	CHECK(seen >= HOSTS - 2);
}

static void a_host_that_becomes_slow_is_one_item_of_the_host(void)
{
	CLEANUP(fleet_end) struct fleet f;

	fleet_begin(&f);
	learn(&f, 1);
	CHECK_EQ(usual_of(run(&f, 3, 1, 1), "host3"), -1);
	CHECK_EQ(usual_of(run(&f, 3, 0.88, 1), "host3"), USUAL_DROPPED);
	/* Among each other its parts are what they were. */
	CHECK_EQ(usual_of(f.last, "cpu:4"), USUAL_KEPT);
}

static void a_host_born_slow_is_seen_among_the_others(void)
{
	CLEANUP(fleet_end) struct fleet f;
	const struct verdict_item *item;

	fleet_begin(&f);
	f.host[0] = 70;
	learn(&f, 0.85);
	item = item_find(run(&f, 0, 0.85, 1), "gemm.rate", "host0");
	CHECK(item != NULL);
	if (item) {
		CHECK_EQ(item->source, SOURCE_FLEET);
		CHECK_EQ(item->usual, USUAL_KEPT);
	}
	/* It has been mended. */
	CHECK(item_find(run(&f, 0, 1, 1), "gemm.rate", "host0") == NULL);
}

static void what_all_hosts_have_in_common_drops_nobody(void)
{
	CLEANUP(fleet_end) struct fleet f;
	size_t i, r, seen = 0;

	fleet_begin(&f);
	learn(&f, 1);
	/* Everything runs hotter from now on: those that come later are what they were beside it. */
	for (r = 0; r < 2; r++) {
		for (i = 0, seen = 0; i < HOSTS; i++) {
			CLEANUP(freep) char *name = xasprintf("host%zu", i);

			seen += usual_of(run(&f, i, 0.96, 1), name) >= 0;
		}
	}
	CHECK_EQ(seen, 0);
}

/* Three quarters become slow, and good again: the others were never anything but good. */
static void a_fleet_that_moves_is_no_control(void)
{
	CLEANUP(fleet_end) struct fleet f;
	size_t i, r, seen = 0;

	fleet_begin(&f);
	learn(&f, 1);
	for (r = 0; r < 8; r++) {
		for (i = 0; i < HOSTS; i++) {
			CLEANUP(freep) char *name = xasprintf("host%zu", i);
			const bool apart = i >= HOSTS * 3 / 4;
			const struct verdict *v = run(&f, i, r < 4 && !apart ? 0.88 : 1, 1);

			seen += apart && usual_of(v, name) >= 0;
		}
	}
	CHECK_EQ(seen, 0);
}

static void another_machine_has_no_usual(void)
{
	CLEANUP(fleet_end) struct fleet f;

	fleet_begin(&f);
	learn(&f, 1);
	baselines_forget(&f.baselines, "host5");
	CHECK_EQ(usual_of(run(&f, 5, 1, 0.9), "cpu:0"), USUAL_UNKNOWN);
	CHECK_EQ(usual_of(run(&f, 6, 1, 0.9), "cpu:0"), USUAL_DROPPED);
}

static const struct test tests[] = {
	TEST(a_part_that_becomes_slow_is_seen_by_what_it_was),
	TEST(a_host_that_becomes_slow_is_one_item_of_the_host),
	TEST(a_host_born_slow_is_seen_among_the_others),
	TEST(what_all_hosts_have_in_common_drops_nobody),
	TEST(a_fleet_that_moves_is_no_control),
	TEST(another_machine_has_no_usual),
};

int main(void)
{
	return TEST_MAIN("usual", tests);
}
