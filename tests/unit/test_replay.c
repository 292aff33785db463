/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/policy/policy.h"
#include "lib/policy/replay.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define START_US (UINT64_C(1800000000) * USEC_PER_SEC)

enum { HOSTS = 40 };

#define FATAL_CORDONS "{name: dead, match: {severity: fatal}, action: cordon}"

/* A policy with these rules and this budget. */
static struct policy policy_of(const char *budget, const char *rules)
{
	CLEANUP(freep)
	char *yaml = xasprintf("{v: 1, budget: {%s}, rules: [%s]}", budget, rules);
	CLEANUP(json_freep) json_t *doc = NULL;
	struct policy p = policy_init();
	struct err err = ERR_INIT;
	struct jval root;

	CHECK_EQ(yaml_parse(yaml, strlen(yaml), "p", &doc, &err), 0);
	root = jval_root(doc, "p");
	CHECK_EQ(policy_decode(&root, &p, &err), 0);
	CHECK_STR(err.msg, "");
	return p;
}

static const struct replay_item dead = {
	.check = "gpu.xid",
	.subject = "gpu:3",
	.sentence = "gpu:3 fell off the bus",
	.level = VERDICT_FAIL,
	.fatal = true,
	.source = SOURCE_SELF,
	.value = (double)NAN,
	.expected = (double)NAN,
};

static struct replay_item low(double value)
{
	return (struct replay_item){ .check = "gemm.rate",
				     .subject = "gpu:3",
				     .level = VERDICT_WARN,
				     .source = SOURCE_FLEET,
				     .value = value,
				     .expected = 1 };
}

/* A history of HOSTS hosts: `sick` says what a host has in a round, or NULL. */
struct history {
	unsigned rounds;
	uint64_t every_us;
	const struct replay_item *(*sick)(unsigned host, unsigned round);
	const char *(*rack)(unsigned host);
};

static json_t *play(const struct policy *policy, const struct history *h)
{
	CLEANUP(replay_freep) struct replay *r = replay_new(policy);
	unsigned round, i;

	for (round = 0; round < h->rounds; round++) {
		for (i = 0; i < HOSTS; i++) {
			char name[16];
			const struct replay_item *item = h->sick ? h->sick(i, round) : NULL;
			const struct replay_run run = {
				.node = name,
				.sku = "x",
				.domain = h->rack ? h->rack(i) : NULL,
				.profile = "quick",
				.at_us = START_US + round * h->every_us + i,
				.items = item,
				.n_items = item ? 1 : 0,
			};

			(void)snprintf(name, sizeof(name), "gpu-%02u", i);
			replay_add(r, &run);
		}
	}
	return replay_end(r, START_US + h->rounds * h->every_us);
}

/* The member of the item of the list whose `key` is `name`; -1 when there is none. */
static double at(const json_t *answer, const char *list, const char *key, const char *name,
		 const char *member)
{
	const json_t *items = json_object_get(answer, list);
	size_t i;

	for (i = 0; i < json_array_size(items); i++) {
		const json_t *one = json_array_get(items, i);

		if (streq(json_string_value(json_object_get(one, key)), name))
			return json_number_value(json_object_get(one, member));
	}
	return -1;
}

static double total(const json_t *answer, const char *list, const char *member)
{
	const json_t *items = json_object_get(answer, list);
	double sum = 0;
	size_t i;

	for (i = 0; i < json_array_size(items); i++)
		sum += json_number_value(json_object_get(json_array_get(items, i), member));
	return sum;
}

static const struct replay_item *seventh_dies_early(unsigned host, unsigned round)
{
	return host == 7 && round >= 2 && round < 4 ? &dead : NULL;
}

static void a_dead_host_is_cordoned_and_released_after_its_tests(void)
{
	struct policy p = policy_of("", FATAL_CORDONS);
	const struct history h = { 60, 5 * USEC_PER_MIN, seventh_dies_early, NULL };
	CLEANUP(json_freep) json_t *answer = play(&p, &h);

	CHECK_EQ(at(answer, "rules", "rule", "dead", "done"), 1);
	CHECK_EQ(at(answer, "nodes", "node", "gpu-07", "cordons"), 1);
	CHECK_EQ(at(answer, "nodes", "node", "gpu-07", "releases"), 1);
	CHECK_EQ(json_array_size(json_object_get(answer, "refusals")), 0);
	/* At least the delay of the policy after the last bad run, and not for ever. */
	CHECK(at(answer, "nodes", "node", "gpu-07", "out_s") >= (double)p.release_delay_us / 1e6);
	CHECK(at(answer, "nodes", "node", "gpu-07", "out_s") < 60 * 300);
	CHECK_HAS(json_string_value(json_object_get(answer, "sentence")),
		  "1 cordon, 1 release, 0 refusals");
	policy_release(&p);
}

static const struct replay_item *three_die_and_stay(unsigned host, unsigned round)
{
	return host < 3 && round >= 2 + 3 * host ? &dead : NULL;
}

static const char *one_rack(unsigned host)
{
	return host < 3 ? "rack-1" : "rack-2";
}

static void what_a_budget_refuses_is_counted_once_with_what_would_allow_it(void)
{
	struct policy p =
		policy_of("total: {percent: 50}, domain: {label: rack, max: 1}", FATAL_CORDONS);
	const struct history h = { 30, 5 * USEC_PER_MIN, three_die_and_stay, one_rack };
	CLEANUP(json_freep) json_t *answer = play(&p, &h);
	const json_t *refusal = json_array_get(json_object_get(answer, "refusals"), 0);

	CHECK_EQ(at(answer, "nodes", "node", "gpu-00", "cordons"), 1);
	CHECK_EQ(total(answer, "nodes", "cordons"), 1);
	CHECK_EQ(at(answer, "refusals", "budget", "budget.domain", "nodes"), 2);
	CHECK_EQ(at(answer, "refusals", "budget", "budget.domain", "times"), 2);
	CHECK(strlen(json_string_value(json_object_get(refusal, "allows"))) > 0);
	CHECK_EQ(at(answer, "rules", "rule", "dead", "refused"), 2);
	policy_release(&p);
}

static const struct replay_item *seventh_is_low(unsigned host, unsigned round)
{
	static struct replay_item item;

	item = low(0.9);
	return host == 7 && round >= 2 ? &item : NULL;
}

static void a_lenient_floor_finds_less(void)
{
	static const struct {
		const char *rules;
		bool found;
	} cases[] = {
		{ "{name: slow, match: {check: 'gemm.*'}, floor: {ratio: 0.95}, windows: {k: 2, n: "
		  "3}, action: alert}",
		  true },
		{ "{name: slow, match: {check: 'gemm.*'}, floor: {ratio: 0.85}, windows: {k: 2, n: "
		  "3}, action: alert}",
		  false },
		{ "{name: slow, match: {check: 'memory.*'}, action: alert}", false },
	};
	const struct history h = { 12, 5 * USEC_PER_MIN, seventh_is_low, NULL };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct policy p = policy_of("", cases[i].rules);
		CLEANUP(json_freep) json_t *answer = play(&p, &h);

		CHECK_EQ(at(answer, "rules", "rule", "slow", "nodes"), cases[i].found ? 1 : -1);
		/* An alert stands as long as its finding: it is one. */
		CHECK_EQ(at(answer, "rules", "rule", "slow", "done"), cases[i].found ? 1 : -1);
		CHECK_EQ(total(answer, "nodes", "cordons"), 0);
		policy_release(&p);
	}
}

static void nothing_and_healthy_hosts_are_counted_and_no_more(void)
{
	struct policy p = policy_of("", FATAL_CORDONS);
	const struct history none = { 0, USEC_PER_MIN, NULL, NULL };
	const struct history healthy = { 3, USEC_PER_MIN, NULL, NULL };
	CLEANUP(json_freep) json_t *a = play(&p, &none);
	CLEANUP(json_freep) json_t *b = play(&p, &healthy);

	CHECK_EQ(json_integer_value(json_object_get(a, "reports")), 0);
	CHECK(json_is_null(json_object_get(a, "from")));
	CHECK_EQ(json_integer_value(json_object_get(b, "reports")), 3 * HOSTS);
	CHECK_EQ(json_integer_value(json_object_get(b, "nodes_seen")), HOSTS);
	CHECK_EQ(total(b, "nodes", "cordons"), 0);
	CHECK(json_is_null(json_object_get(b, "breaker")));
	policy_release(&p);
}

/* Deterministic noise: a few per cent of runs are bad, and some hosts more often. */
static const struct replay_item *noise(unsigned host, unsigned round)
{
	struct random r = random_seeded((uint64_t)round * HOSTS + host);
	double chance = host % 9 == 0 ? 0.4 : 0.02;

	return random_unit(&r) < chance ? &dead : NULL;
}

static const char *racks(unsigned host)
{
	static const char *const names[] = { "a", "b", "c", "d" };

	return names[host % ARRAY_SIZE(names)];
}

static void counts_agree_and_the_same_history_gives_the_same_answer(void)
{
	struct policy p =
		policy_of("total: {percent: 10}, domain: {label: rack, max: 2}", FATAL_CORDONS);
	const struct history h = { test_full() ? 2000 : 200, 5 * USEC_PER_MIN, noise, racks };
	CLEANUP(json_freep) json_t *a = play(&p, &h);
	CLEANUP(json_freep) json_t *b = play(&p, &h);

	CHECK(json_equal(a, b));
	CHECK(total(a, "nodes", "cordons") > 0);
	CHECK_EQ(total(a, "nodes", "cordons"), at(a, "rules", "rule", "dead", "done"));
	CHECK_EQ(total(a, "nodes", "refused"), total(a, "refusals", "times"));
	CHECK_EQ(total(a, "rules", "refused"), total(a, "refusals", "times"));
	CHECK(total(a, "nodes", "releases") <= total(a, "nodes", "cordons"));
	/* A tenth of the hosts at most, all the time. */
	CHECK(total(a, "nodes", "out_s") <= HOSTS / 10 * (double)(h.rounds * h.every_us) / 1e6);
	policy_release(&p);
}

#define SLOW_CORDONS "{name: slow, match: {check: 'gemm.*'}, windows: {k: 2, n: 3}, action: retest}"

/* What each reference said of a part that is 10 % low all the time. */
static const struct replay_item *as_told(unsigned host, unsigned round)
{
	enum {
		F = 1 << SOURCE_FLEET,
		S = 1 << SOURCE_SKU,
		H = 1 << SOURCE_HISTORY,
		P = 1 << SOURCE_PEERS
	};
	static const struct {
		unsigned known, low;
		int usual;
		bool bare;
	} told[] = {
		{ F | H | S | P, S | P, USUAL_KEPT, false }, /* the fleet lets it pass */
		{ F | H | P, F | P, USUAL_KEPT, false },     /* born so: told */
		{ F | H | P, H, USUAL_DROPPED, false },	     /* it has been better */
		{ 0, 0, USUAL_UNKNOWN, true },		     /* nobody knows any more */
	};
	static struct replay_item item;

	item = low(0.9);
	if (round < 2 || host >= ARRAY_SIZE(told))
		return NULL;
	item.unit = "FLOP/s";
	item.floor = 0.95;
	item.known_by = told[host].known;
	item.low_by = told[host].low;
	item.usual = told[host].usual;
	item.bare = told[host].bare;
	return &item;
}

static void what_was_no_bad_run_is_none_in_a_replay(void)
{
	struct policy p = policy_of("", SLOW_CORDONS);
	const struct history h = { 30, 30 * USEC_PER_MIN, as_told, NULL };
	CLEANUP(json_freep) json_t *answer = play(&p, &h);
	const json_t *lacks = json_object_get(answer, "lacks");

	CHECK_EQ(at(answer, "nodes", "node", "gpu-00", "cordons"), -1);
	CHECK_EQ(at(answer, "nodes", "node", "gpu-01", "cordons"), -1);
	CHECK_EQ(at(answer, "nodes", "node", "gpu-02", "cordons"), 1);
	CHECK_EQ(at(answer, "nodes", "node", "gpu-03", "cordons"), 1);
	CHECK_EQ(json_array_size(lacks), 3);
	CHECK_HAS(json_string_value(json_array_get(lacks, 2)),
		  "for 28 reports, what each reference said is not stored");
	policy_release(&p);
}

#define SLOW_IS_TESTED \
	"{name: slow, match: {check: 'gemm.*'}, windows: {k: 2, n: 3}, action: retest}"

static const char *racks_of_ten(unsigned host)
{
	static const char *const names[] = { "rack-0", "rack-1", "rack-2", "rack-3" };

	return names[host / 10];
}

/* Rack 1 is low for 8 rounds; host 12 stays so until the round, host 35 is by itself from round 2 on. */
static unsigned stays_low_until;

static const struct replay_item *a_rack_is_low(unsigned host, unsigned round)
{
	static struct replay_item item;

	item = low(0.8);
	if (host == 35)
		return round >= 2 ? &item : NULL;
	if (host / 10 == 1 && round >= 2 && round < 10)
		return &item;
	return host == 12 && round >= 10 && round < stays_low_until ? &item : NULL;
}

/* The same code decides as in mode enforce: nobody is blamed for what a rack had, or had a day ago. */
static void what_a_rack_shared_cordons_none_of_it_in_a_replay_either(void)
{
	static const struct {
		unsigned until;
		double cordons;
	} rows[] = { { 15, -1 }, { 20, 1 } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy p = policy_of("", SLOW_IS_TESTED);
		const struct history h = { 22, 4 * USEC_PER_HOUR, a_rack_is_low, racks_of_ten };
		CLEANUP(json_freep) json_t *answer = NULL;

		stays_low_until = rows[i].until;
		answer = play(&p, &h);
		CHECK_EQ(at(answer, "nodes", "node", "gpu-35", "cordons"), 1);
		CHECK_EQ(at(answer, "nodes", "node", "gpu-11", "cordons"), -1);
		CHECK_EQ(at(answer, "nodes", "node", "gpu-12", "cordons"), rows[i].cordons);
		policy_release(&p);
	}
}

/* Its second test passes and two later ones fail again; another host is low twice, and well then. */
static const struct replay_item *one_passes_once(unsigned host, unsigned round)
{
	static struct replay_item item;

	item = low(0.8);
	/* What comes after a test is decided with the run after it: rounds 2, 4, 6 and 8 are tests. */
	return (host == 0 && round != 4) || (host == 20 && round < 2) ? &item : NULL;
}

static void one_pass_ends_no_finding_of_a_value_in_a_replay_either(void)
{
	struct policy p = policy_of("", SLOW_IS_TESTED);
	const struct history h = { 9, 40 * USEC_PER_MIN, one_passes_once, NULL };
	CLEANUP(json_freep) json_t *answer = play(&p, &h);

	CHECK_EQ(at(answer, "nodes", "node", "gpu-00", "cordons"), 1);
	CHECK_EQ(at(answer, "nodes", "node", "gpu-20", "cordons"), -1);
	policy_release(&p);
}

static const struct test tests[] = {
	TEST(what_a_rack_shared_cordons_none_of_it_in_a_replay_either),
	TEST(one_pass_ends_no_finding_of_a_value_in_a_replay_either),
	TEST(what_was_no_bad_run_is_none_in_a_replay),
	TEST(a_dead_host_is_cordoned_and_released_after_its_tests),
	TEST(what_a_budget_refuses_is_counted_once_with_what_would_allow_it),
	TEST(a_lenient_floor_finds_less),
	TEST(nothing_and_healthy_hosts_are_counted_and_no_more),
	TEST(counts_agree_and_the_same_history_gives_the_same_answer),
};

TEST_SUITE(tests);
