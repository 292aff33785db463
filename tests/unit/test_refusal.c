/* SPDX-License-Identifier: Apache-2.0 */
/* The rule that refuses a cordon, and what would allow it. */
#include "lib/policy/budget.h"

#include <math.h>

#include "lib/base/xalloc.h"
#include "tests/unit/fleet_world.h"
#include "tests/unit/test.h"

#define RULES FATAL ", " SLOW ", " REST

/* Returns the refusal of a cordon of n000 in the current state. */
struct refused_row {
	const char *what;
	void (*make)(struct world *w);
	int by;
	const char *sentence, *allow;
};

static void at_total(struct world *w)
{
	world_node(w, 5)->out = OUT_NOT_READY;
	world_node(w, 6)->out = OUT_OTHERS | OUT_NOT_READY;
}

static void at_nodes(struct world *w)
{
	w->policy.total_nodes = 1;
	world_node(w, 5)->out = OUT_HOLD;
}

static void at_domain(struct world *w)
{
	w->policy.domain_label = xstrdup("rack");
	fleet_set_domain(&w->fleet, world_node(w, 0), "r7");
	fleet_set_domain(&w->fleet, world_node(w, 5), "r7");
	world_node(w, 5)->out = OUT_OTHERS;
}

static void at_job(struct world *w)
{
	const char *const jobs[] = { "small", "llama" };

	fleet_set_jobs(&w->fleet, world_node(w, 0), jobs, 2);
	fleet_set_jobs(&w->fleet, world_node(w, 5), &jobs[1], 1);
	world_node(w, 5)->out = OUT_NOT_READY;
}

static void at_rate(struct world *w)
{
	unsigned i;

	for (i = 0; i < 3; i++)
		breaker_count(&w->breaker, w->now_us - USEC_PER_MIN);
}

static void at_breaker(struct world *w)
{
	(void)breaker_open(&w->breaker, BREAKER_HAND, w->now_us, "by hand");
}

static void at_unmanaged(struct world *w)
{
	world_node(w, 0)->managed = false;
}

static void at_others(struct world *w)
{
	world_node(w, 0)->out = OUT_OTHERS;
}

static void at_hands_off(struct world *w)
{
	fleet_set_hands_off(world_node(w, 0), "Karpenter is removing it");
	world_node(w, 0)->out = OUT_OTHERS; /* the reason is given, not that it is out */
}

static void at_stale(struct world *w)
{
	w->fleet.stale = xstrdup("the API is down");
	at_breaker(w); /* missing information takes precedence over the breaker */
}

static void at_silence(struct world *w)
{
	happens(w, 0, EVENT_SILENCE);
}

static void at_override(struct world *w)
{
	happens(w, 0, EVENT_OVERRIDE);
}

static void every_refusal_names_its_limit_and_what_would_allow_it(void)
{
	static const struct refused_row rows[] = {
		{ "total", at_total, REFUSED_BY_TOTAL, "2 of 20 nodes are out of service",
		  "1 node back" },
		{ "nodes", at_nodes, REFUSED_BY_TOTAL, "1 may be", "larger budget.total" },
		{ "domain", at_domain, REFUSED_BY_DOMAIN, "1 node of rack r7 is out", "of r7 back" },
		{ "job", at_job, REFUSED_BY_JOB, "1 node of job llama is out", "end of job llama" },
		{ "rate", at_rate, REFUSED_BY_RATE, "3 automatic cordons in the last 10m",
		  "waiting until 20" },
		{ "breaker", at_breaker, REFUSED_BY_BREAKER, "breaker: by hand",
		  "assayctl breaker reset" },
		{ "managed", at_unmanaged, REFUSED_BY_UNMANAGED, "n000 opted out", "managed=false" },
		{ "other", at_others, REFUSED_BY_OTHER, "someone else", "end of that cordon" },
		{ "hands-off", at_hands_off, REFUSED_BY_HANDS_OFF,
		  "Assay does not touch n000: Karpenter is removing it", "the end of that" },
		{ "stale", at_stale, REFUSED_BY_STALE, "stale: the API is down", "knowing" },
		{ "silence", at_silence, REFUSED_BY_SILENCE, "silence:", "assayctl silence" },
		{ "override", at_override, REFUSED_BY_OVERRIDE, "override:", "assayctl override" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(world_release) struct world w;
		const struct decision *one;

		world_init(&w, RULES, 20);
		note(&w, 0, "gpu.lost", SEVERITY_FATAL);
		rows[i].make(&w);
		decide(&w);
		one = find(&w, 0, DECIDE_CORDON);
		CHECK(one && !one->effect && one->refused);
		if (!one || !one->refused)
			continue;
		CHECK_EQ(one->refused->by, rows[i].by);
		CHECK(starts_with(one->refused->sentence, refused_by_names[rows[i].by]));
		CHECK_HAS(one->refused->sentence, rows[i].sentence);
		CHECK_HAS(one->refused->allow, rows[i].allow);
	}
}

static void a_rate_is_free_again_when_it_says(void)
{
	CLEANUP(world_release) struct world w;
	const struct decision *one;

	world_init(&w, RULES, 20);
	at_rate(&w);
	note(&w, 0, "gpu.lost", SEVERITY_FATAL);
	decide(&w);
	one = find(&w, 0, DECIDE_CORDON);
	CHECK(one && one->refused);
	if (!one || !one->refused)
		return;
	CHECK_EQ(one->refused->again_us, w.now_us + 9 * USEC_PER_MIN);
	later(&w, 9 * USEC_PER_MIN - 1);
	decide(&w);
	CHECK(!find(&w, 0, DECIDE_CORDON)->effect);
	later(&w, 1);
	decide(&w);
	CHECK(find(&w, 0, DECIDE_CORDON)->effect);
}

/* The caller does not have to poll: the outcome has the time. */
static void what_a_time_refuses_is_decided_at_that_time(void)
{
	static const struct refused_row rows[] = {
		{ "silence", at_silence, REFUSED_BY_SILENCE, NULL, NULL },
		{ "override", at_override, REFUSED_BY_OVERRIDE, NULL, NULL },
		{ "rate", at_rate, REFUSED_BY_RATE, NULL, NULL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(world_release) struct world w;
		const struct decision *one;
		uint64_t again_us;

		world_init(&w, RULES, 20);
		rows[i].make(&w);
		note(&w, 0, "gemm.rate", SEVERITY_FAIL);
		note(&w, 0, "gemm.rate", SEVERITY_FAIL);
		note(&w, 0, "gpu.lost", SEVERITY_FATAL);
		if (rows[i].by == REFUSED_BY_OVERRIDE)
			w.fleet.nodes[0]->record.override_us = w.now_us;
		decide(&w);
		one = find(&w, 0, DECIDE_CORDON);
		CHECK(one && one->refused && one->refused->by == rows[i].by);
		again_us = w.out.again_us;
		CHECK(again_us > w.now_us);
		later(&w, again_us - w.now_us - 1);
		decide(&w);
		CHECK(!find(&w, 0, DECIDE_CORDON)->effect);
		CHECK_EQ(w.out.again_us, again_us);
		later(&w, 1);
		decide(&w);
		CHECK(find(&w, 0, DECIDE_CORDON)->effect);
	}
}

/* Tests wait for the end of a silence too, and a cordon has to be released after it. */
static void a_test_is_decided_when_a_silence_ends(void)
{
	CLEANUP(world_release) struct world w;
	uint64_t until_us;

	world_init(&w, RULES, 20);
	at_silence(&w);
	until_us = w.fleet.nodes[0]->record.silence_until_us;
	note(&w, 0, "gemm.rate", SEVERITY_FAIL);
	note(&w, 0, "gemm.rate", SEVERITY_FAIL);
	decide(&w);
	CHECK(!find(&w, 0, DECIDE_RETEST));
	CHECK_EQ(w.out.again_us, until_us);
	later(&w, until_us - w.now_us);
	decide(&w);
	CHECK(find(&w, 0, DECIDE_RETEST));
}

static void what_is_granted_counts_for_those_after_it(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 100);
	for (i = 0; i < 5; i++)
		note(&w, i, i < 3 ? "gpu.lost" : "gpu.xid", SEVERITY_FATAL);
	w.policy.alike_nodes = 50;
	decide(&w);
	for (i = 0; i < 5; i++)
		CHECK_EQ(find(&w, i, DECIDE_CORDON)->refused
				 ? find(&w, i, DECIDE_CORDON)->refused->by
				 : 0,
			 i < 3 ? REFUSED_BY_NONE : REFUSED_BY_RATE);
	w.policy.rate_cordons = 100;
	w.policy.total_nodes = 2;
	decide(&w);
	CHECK_EQ(find(&w, 1, DECIDE_CORDON)->effect, true);
	CHECK_EQ(find(&w, 2, DECIDE_CORDON)->refused->by, REFUSED_BY_TOTAL);
}

static void a_node_that_is_out_already_takes_no_more_room(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 20);
	world_node(&w, 5)->out = OUT_OTHERS;
	world_node(&w, 0)->out = OUT_NOT_READY;
	note(&w, 0, "gpu.lost", SEVERITY_FATAL);
	decide_and_do(&w);
	CHECK_EQ(world_node(&w, 0)->out, OUT_NOT_READY | OUT_OURS);
	CHECK_EQ(w.out.out, 2);
}

/* Control plane nodes do not count for the budget, and are not cordoned. */
static void nodes_that_are_none_for_jobs_count_for_nothing(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 20);
	w.policy.total_percent = 20;
	for (i = 0; i < 10; i++) {
		world_node(&w, i)->outside = true;
		world_node(&w, i)->out = OUT_NOT_READY;
		fleet_set_hands_off(world_node(&w, i), "it is a control-plane node");
	}
	decide(&w);
	CHECK_EQ(w.out.out, 0);
	CHECK_EQ(w.out.budget.nodes, 10);
	CHECK_EQ(w.out.budget.total_max, 2);
}

static void only_enforce_has_effects(void)
{
	int mode;

	for (mode = MODE_OBSERVE; mode <= MODE_ENFORCE; mode++) {
		CLEANUP(world_release) struct world w;
		const struct decision *one;

		world_init(&w, RULES, 20);
		w.policy.mode = mode;
		note(&w, 0, "gpu.lost", SEVERITY_FATAL);
		decide(&w);
		one = find(&w, 0, DECIDE_CORDON);
		CHECK(one && !one->refused);
		if (!one)
			continue;
		CHECK_EQ(one->effect, mode == MODE_ENFORCE);
		CHECK_EQ(policy_applied(&w.policy, &w.fleet, &w.breaker, one, w.now_us, NULL,
					NULL) == 0,
			 mode == MODE_ENFORCE);
		CHECK_EQ(world_node(&w, 0)->out != 0, mode == MODE_ENFORCE);
	}
}

/* ---- parts that were always slow ------------------------------------------------ */

/* n<i> has a GPU that was always slow, and a job is slow because of it from now on. */
static struct finding *born(struct world *w, unsigned i, double score)
{
	const struct blame found = { .class = BLAME_COMPUTE,
				     .job = (char *)(uintptr_t) "research/llm-7",
				     .since_us = w->now_us - USEC_PER_HOUR,
				     .until_us = w->now_us + 365 * USEC_PER_DAY };
	struct finding *finding;

	note(w, i, "gemm.rate", SEVERITY_FAIL);
	finding = note(w, i, "gemm.rate", SEVERITY_FAIL);
	finding->born = true;
	finding->parts = 8;
	finding->parts_bad = 1;
	finding->score = score;
	fleet_set_blame(world_node(w, i), &found);
	return finding;
}

enum { CORDONS_MAX = 200 }; /* cordons in a test: within the rate */

/* Only jobs.born limits it. */
static void open_world(struct world *w, unsigned n, double percent)
{
	world_init(w, RULES, n);
	w->policy.total_percent = 100;
	w->policy.rate_cordons = CORDONS_MAX;
	w->policy.jobs.born_percent = percent;
}

static void check_withheld(const struct world *w, unsigned i, const char *words)
{
	const struct decision *one = find(w, i, DECIDE_CORDON);

	CHECK(one && !one->effect && one->born && one->refused);
	if (!one || !one->refused)
		return;
	CHECK_EQ(one->refused->by, REFUSED_BY_BORN);
	CHECK(starts_with(one->refused->sentence, "jobs.born: "));
	CHECK_HAS(one->refused->sentence, words);
	CHECK_HAS(one->refused->allow, "assayctl cordon NODE");
	CHECK_HAS(one->reason, "research/llm-7 is slow because of it");
	CHECK(find(w, i, DECIDE_ALERT)); /* it is reported anyway */
}

/* All small SKUs, all at once or one after the other, and those that the default is about. */
static void no_more_parts_born_slow_are_cordoned_than_their_sku_lets(void)
{
	static const unsigned sizes[] = { 1, 2, 3, 5, 8, 13, 20, 125, 199, 200, 399, 400 };
	static const unsigned tenths[] = { 0, 5, 50, 125, 334, 1000 };
	size_t i, j;
	int apart;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (j = 0; j < 2 * ARRAY_SIZE(tenths); j++) {
			const unsigned part = tenths[j / 2], n = sizes[i], most = n * part / 1000,
				       bad = most + 3 < n ? most + 3
							  : MIN(n, (unsigned)CORDONS_MAX);
			CLEANUP(world_release) struct world w;
			unsigned k;

			apart = j % 2;
			open_world(&w, n, part / 10.0);
			for (k = 0; k < bad; k++) {
				(void)born(&w, k, 0.8);
				if (!apart && k + 1 < bad)
					continue;
				decide_and_do(&w);
				later(&w, USEC_PER_HOUR);
			}
			decide(&w);
			for (k = 0; k < bad; k++)
				CHECK_EQ(world_node(&w, k)->out, k < most ? OUT_OURS : 0);
			if (most < bad)
				check_withheld(&w, most, "rounded down");
		}
	}
}

static void a_part_born_slow_has_to_be_slow_enough(void)
{
	static const struct {
		double score;
		bool cordoned;
	} rows[] = { { 0.5, true },   { 0.9199, true }, { 0.92, false },
		     { 0.97, false }, { 1.1, true },	{ NAN, false } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(world_release) struct world w;

		open_world(&w, 20, 50);
		(void)born(&w, 3, rows[i].score);
		decide(&w);
		CHECK(find(&w, 3, DECIDE_CORDON));
		if (rows[i].cordoned)
			CHECK(find(&w, 3, DECIDE_CORDON)->effect);
		else
			check_withheld(&w, 3, "below 0.92");
	}
}

/* Pending cordons count, so do released ones, but not those older than `per`. */
static void a_cordon_for_a_part_born_slow_counts_from_its_decision_for_so_long(void)
{
	CLEANUP(world_release) struct world w;
	struct life_change change;
	uint64_t decided_us, again_us;

	open_world(&w, 20, 5);
	(void)born(&w, 3, 0.8);
	decide(&w);
	decided_us = w.now_us;
	CHECK_EQ(policy_begun(&w.fleet, find(&w, 3, DECIDE_CORDON), w.now_us, &change, NULL), 0);
	(void)born(&w, 4, 0.7);
	decide(&w);
	check_withheld(&w, 4, "of 20 hosts of hgx, 1 was cordoned in the last 30d");
	world_node(&w, 3)->record.born_us = 0; /* it was dropped because of another event */
	decide(&w);
	CHECK(find(&w, 3, DECIDE_CORDON)->effect && !find(&w, 4, DECIDE_CORDON)->effect);
	world_node(&w, 3)->record.born_us = decided_us;
	happens(&w, 3, EVENT_CORDONED);
	happens(&w, 3, EVENT_RELEASED);
	happens(&w, 3, EVENT_REPLACED);
	(void)born(&w, 3, 0.8);
	world_node(&w, 3)->record.override_until_us = 0;
	decide(&w);
	check_withheld(&w, 3, "n003 was cordoned for it at");
	check_withheld(&w, 4, "1 was cordoned");
	again_us = find(&w, 4, DECIDE_CORDON)->refused->again_us;
	CHECK_EQ(again_us, decided_us + 30 * USEC_PER_DAY);
	later(&w, again_us - w.now_us - 1);
	decide(&w);
	CHECK(!find(&w, 4, DECIDE_CORDON)->effect);
	later(&w, 1);
	decide(&w);
	CHECK_EQ(find(&w, 4, DECIDE_CORDON)->effect + find(&w, 3, DECIDE_CORDON)->effect, 1);
	CHECK_EQ(world_node(&w, 3)->record.born_us, 0);
}

/* Weeks of it must not hide other findings. */
static void what_jobs_born_refuses_stands_in_the_way_of_nothing_else(void)
{
	CLEANUP(world_release) struct world w;
	struct finding *other;

	open_world(&w, 20, 0);
	(void)born(&w, 3, 0.8);
	(void)born(&w, 4, 0.8);
	later(&w, USEC_PER_MIN);
	fleet_set_blame(world_node(&w, 4), NULL);
	note(&w, 3, "gemm.chain", SEVERITY_FAIL);
	note(&w, 3, "gemm.chain", SEVERITY_FAIL);
	fleet_set_blame(world_node(&w, 3),
			&(struct blame){ .class = BLAME_LAUNCH,
					 .job = (char *)(uintptr_t) "research/llm-7",
					 .until_us = w.now_us + USEC_PER_DAY });
	decide(&w);
	CHECK(find(&w, 3, DECIDE_CORDON) && find(&w, 3, DECIDE_CORDON)->effect);
	CHECK(!find(&w, 4, DECIDE_CORDON));
	(void)born(&w, 4, 0.8);
	other = note(&w, 4, "gemm.other", SEVERITY_FAIL);
	note(&w, 4, "gemm.other", SEVERITY_FAIL);
	other->seen_us = w.now_us - USEC_PER_DAY; /* unrelated to the job */
	decide_and_do(&w);
	check_withheld(&w, 4, "rounded down");
	CHECK(find(&w, 4, DECIDE_RETEST));
	CHECK_EQ(count_of(&w, DECIDE_CORDON), 2);
	CHECK(!w.breaker.open);
}

static void who_is_of_no_known_sku_is_told_of_alone(void)
{
	CLEANUP(world_release) struct world w;

	open_world(&w, 20, 100);
	fleet_set_sku(&w.fleet, world_node(&w, 3), NULL);
	(void)born(&w, 3, 0.8);
	decide(&w);
	check_withheld(&w, 3, "of 0 hosts of an unknown SKU");
}

/* In dry-run nothing is counted, and the decisions of each round keep the limit. */
static void a_rehearsal_counts_parts_born_slow_likewise(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	open_world(&w, 20, 5);
	w.policy.mode = MODE_DRY_RUN;
	for (i = 0; i < 3; i++)
		(void)born(&w, i, 0.8);
	decide(&w);
	CHECK(find(&w, 0, DECIDE_CORDON) && !find(&w, 0, DECIDE_CORDON)->refused);
	check_withheld(&w, 1, "and at most 1 may be");
	check_withheld(&w, 2, "and at most 1 may be");
	CHECK_EQ(world_node(&w, 0)->record.born_us, 0);
}

static void what_is_too_good_to_be_true_is_cordoned_for_no_job(void)
{
	CLEANUP(world_release) struct world w;
	struct finding *finding;

	open_world(&w, 20, 100);
	finding = born(&w, 3, 0.8);
	finding->code = xstrdup(FINDING_IMPOSSIBLE);
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_CORDON) && find(&w, 3, DECIDE_ALERT));
}

static const struct test tests[] = {
	TEST(every_refusal_names_its_limit_and_what_would_allow_it),
	TEST(a_rate_is_free_again_when_it_says),
	TEST(what_a_time_refuses_is_decided_at_that_time),
	TEST(a_test_is_decided_when_a_silence_ends),
	TEST(what_is_granted_counts_for_those_after_it),
	TEST(a_node_that_is_out_already_takes_no_more_room),
	TEST(nodes_that_are_none_for_jobs_count_for_nothing),
	TEST(only_enforce_has_effects),
	TEST(no_more_parts_born_slow_are_cordoned_than_their_sku_lets),
	TEST(a_part_born_slow_has_to_be_slow_enough),
	TEST(a_cordon_for_a_part_born_slow_counts_from_its_decision_for_so_long),
	TEST(what_jobs_born_refuses_stands_in_the_way_of_nothing_else),
	TEST(who_is_of_no_known_sku_is_told_of_alone),
	TEST(a_rehearsal_counts_parts_born_slow_likewise),
	TEST(what_is_too_good_to_be_true_is_cordoned_for_no_job),
};

TEST_SUITE(tests);
