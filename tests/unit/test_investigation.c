/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/investigation.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/blame.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define BEGAN (1000 * USEC_PER_DAY)

enum { HOSTS = 3 };

static const char *const names[HOSTS] = { "gpu-1", "gpu-2", "gpu-3" };

/* A job with some hosts; the first is to be tested. */
struct scene {
	struct investigation_fact facts[HOSTS];
	struct investigation_now now;
	struct investigation inv;
};

static void scene_init(struct scene *s, size_t n)
{
	size_t i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < n; i++)
		s->facts[i] = (struct investigation_fact){ .name = names[i],
							   .class = BLAME_COMPUTE,
							   .action = i == 0 ? BLAME_PROBE : -1,
							   .effect = i == 0,
							   .there = true,
							   .boot = "b0",
							   .sentence = "two windows blame it" };
	s->now = (struct investigation_now){ .job = 3,
					     .run = 1,
					     .job_name = "research/llm-7",
					     .enforced = true,
					     .facts = s->facts,
					     .n_facts = n,
					     .tests = json_array(),
					     .now_us = BEGAN };
}

static void begin(struct scene *s)
{
	CHECK(investigation_is_wanted(&s->now));
	investigation_begin(&s->now, &s->inv);
	investigation_step(&s->inv, &s->now);
}

static void release(struct scene *s)
{
	json_decref((json_t *)(uintptr_t)s->now.tests);
	investigation_release(&s->inv);
}

/* Steps to `minutes`; checks that repeating the step changes nothing. */
static int step(struct scene *s, unsigned minutes)
{
	CLEANUP(json_freep) json_t *once = NULL;
	CLEANUP(json_freep) json_t *twice = NULL;

	s->now.now_us = BEGAN + minutes * USEC_PER_MIN;
	investigation_step(&s->inv, &s->now);
	once = investigation_json(&s->inv);
	investigation_step(&s->inv, &s->now);
	twice = investigation_json(&s->inv);
	CHECK(json_equal(once, twice));
	return s->inv.state;
}

static void ask(struct scene *s, size_t host, int action)
{
	s->facts[host].action = action;
	s->facts[host].effect = action == BLAME_PROBE || action == BLAME_EVICT;
}

static void order(struct scene *s, const char *node, const char *number, unsigned minutes,
		  const char *result)
{
	(void)json_array_append_new(
		(json_t *)(uintptr_t)s->now.tests,
		json_pack("{s:s, s:s, s:n, s:o, s:o, s:s?}", "node", node, "action", number,
			  "check", "ordered", json_stamp(BEGAN + minutes * USEC_PER_MIN), "done",
			  json_stamp(result ? BEGAN + (minutes + 1) * USEC_PER_MIN : 0), "result",
			  result));
}

static bool is_over(const struct scene *s)
{
	return s->inv.ended_us > 0;
}

static void from_open_to_verified(void)
{
	struct scene s;

	scene_init(&s, 2);
	begin(&s);
	CHECK_EQ(s.inv.state, INVESTIGATION_OPEN);
	CHECK_EQ(s.inv.n_hosts, 1);
	CHECK_STR(s.inv.reason, "two windows blame it");
	CHECK(investigation_holds(&s.inv, "gpu-1") && !investigation_holds(&s.inv, "gpu-2"));
	CHECK_EQ(step(&s, 1), INVESTIGATION_OPEN);
	order(&s, "gpu-2", "6", 1, NULL); /* not one of its hosts */
	CHECK_EQ(step(&s, 2), INVESTIGATION_OPEN);
	order(&s, "gpu-1", "7", 2, NULL);
	CHECK_EQ(step(&s, 3), INVESTIGATION_TESTING);
	CHECK_EQ(json_array_size(s.inv.tests), 1);
	(void)json_array_clear((json_t *)(uintptr_t)s.now.tests);
	order(&s, "gpu-1", "7", 2, "it failed again");
	CHECK_EQ(step(&s, 4), INVESTIGATION_TESTING);
	CHECK_EQ(json_array_size(s.inv.tests), 1); /* the same one, with its result */
	ask(&s, 0, BLAME_EVICT);
	CHECK_EQ(step(&s, 5), INVESTIGATION_EVICT);
	CHECK(investigation_holds(&s.inv, "gpu-1"));
	s.facts[0].cordoned = s.facts[0].runs = true;
	CHECK_EQ(step(&s, 6), INVESTIGATION_CORDONED);
	CHECK_EQ(s.inv.acted_us, BEGAN + 6 * USEC_PER_MIN);
	CHECK(!investigation_is_wanted(&s.now));
	s.now.run = 2; /* still running there until it is drained */
	CHECK_EQ(step(&s, 7), INVESTIGATION_CORDONED);
	ask(&s, 0, -1);
	s.facts[0].runs = false;
	CHECK_EQ(step(&s, 8), INVESTIGATION_REPLACED);
	CHECK_STR(s.inv.sentence, "run 2 of research/llm-7 continues without gpu-1");
	CHECK(!is_over(&s));
	s.now.verified = "8.33 s a step, 8.31 s were predicted";
	CHECK_EQ(step(&s, 9), INVESTIGATION_VERIFIED);
	CHECK_STR(s.inv.sentence, s.now.verified);
	CHECK(is_over(&s) && !investigation_holds(&s.inv, "gpu-1"));
	release(&s);
}

/* From each state of an open investigation, by one change of the facts. */
struct way {
	const char *why; /* in the sentence */
	void (*change)(struct scene *s);
	int state;
	bool person;
};

static void off(struct scene *s)
{
	s->now.enforced = false;
}

static void gone(struct scene *s)
{
	s->now.gone = true;
}

static void left(struct scene *s)
{
	s->facts[0].there = false;
}

static void booted(struct scene *s)
{
	s->facts[0].boot = "b1";
}

static void given_back(struct scene *s)
{
	s->facts[0].given_us = BEGAN + USEC_PER_MIN;
}

static void silent(struct scene *s)
{
	ask(s, 0, -1);
	s->now.silent = true;
}

static void cleared(struct scene *s)
{
	ask(s, 0, -1);
}

static void acquitted(struct scene *s)
{
	ask(s, 0, BLAME_ACQUIT);
}

static void own_doing(struct scene *s)
{
	ask(s, 0, BLAME_OWNER);
}

static void cannot_tell(struct scene *s)
{
	ask(s, 0, BLAME_WATCH);
	s->facts[0].incident = BLAME_CANNOT_TELL;
}

static const struct way ways[] = {
	{ "the mode is no longer enforce", off, INVESTIGATION_WITHDRAWN, false },
	{ "research/llm-7 is no longer known", gone, INVESTIGATION_WITHDRAWN, false },
	{ "gpu-1 is no longer in the cluster", left, INVESTIGATION_WITHDRAWN, false },
	{ "gpu-1 has rebooted since", booted, INVESTIGATION_WITHDRAWN, false },
	{ "an operator keeps gpu-1 in service", given_back, INVESTIGATION_WITHDRAWN, true },
	{ "no window of research/llm-7 for longer", silent, INVESTIGATION_WITHDRAWN, false },
	{ "no longer blame gpu-1", cleared, INVESTIGATION_WATCH, false },
	{ "two windows", acquitted, INVESTIGATION_ACQUITTED, false },
	{ "two windows", own_doing, INVESTIGATION_OWNER, false },
	{ "two windows", cannot_tell, INVESTIGATION_WATCH, false },
};

static void bring_to(struct scene *s, int state)
{
	scene_init(s, 1);
	begin(s);
	if (state >= INVESTIGATION_TESTING)
		order(s, "gpu-1", "7", 0, NULL);
	if (state >= INVESTIGATION_EVICT)
		ask(s, 0, BLAME_EVICT);
	if (state >= INVESTIGATION_CORDONED)
		s->facts[0].cordoned = true;
	CHECK_EQ(step(s, 1), state);
}

static void each_state_ends_in_each_way_with_its_reason(void)
{
	int state;
	size_t i;

	for (state = INVESTIGATION_OPEN; state <= INVESTIGATION_EVICT; state++) {
		for (i = 0; i < ARRAY_SIZE(ways); i++) {
			struct scene s;

			bring_to(&s, state);
			ways[i].change(&s);
			CHECK_EQ(step(&s, 2), ways[i].state);
			CHECK(is_over(&s));
			CHECK(strstr(s.inv.sentence, ways[i].why) != NULL);
			CHECK_EQ(s.inv.by != NULL, ways[i].person);
			CHECK(!investigation_holds(&s.inv, "gpu-1"));
			CHECK_EQ(investigation_bars(&s.inv, "gpu-1", USEC_PER_DAY, s.now.now_us) !=
					 NULL,
				 ways[i].person);
			release(&s);
		}
	}
}

static void what_waits_for_room_stays_open(void)
{
	struct scene s;

	bring_to(&s, INVESTIGATION_OPEN);
	ask(&s, 0, BLAME_WATCH); /* the maximum of hosts under test is reached */
	CHECK_EQ(step(&s, 2), INVESTIGATION_OPEN);
	CHECK(!is_over(&s));
	release(&s);
}

static void cordoned_ends_as_it_is(void)
{
	static const struct {
		void (*change)(struct scene *s);
		int state;
	} rows[] = {
		{ off, INVESTIGATION_CORDONED },    { booted, INVESTIGATION_CORDONED },
		{ silent, INVESTIGATION_CORDONED }, { gone, INVESTIGATION_CORDONED },
		{ left, INVESTIGATION_CORDONED },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct scene s;

		bring_to(&s, INVESTIGATION_CORDONED);
		rows[i].change(&s);
		CHECK_EQ(step(&s, 2), rows[i].state);
		CHECK_EQ(is_over(&s), rows[i].change == gone || rows[i].change == left);
		CHECK_EQ(step(&s, 1 + 24 * 60), rows[i].state);
		CHECK(is_over(&s));
		release(&s);
	}
}

static void who_gives_a_cordoned_host_back_withdraws_it(void)
{
	struct scene s;

	bring_to(&s, INVESTIGATION_CORDONED);
	s.facts[0].cordoned = false;
	s.facts[0].given_us = BEGAN + 2 * USEC_PER_MIN;
	CHECK_EQ(step(&s, 2), INVESTIGATION_WITHDRAWN);
	CHECK_STR(s.inv.sentence, "an operator released gpu-1");
	CHECK(investigation_bars(&s.inv, "gpu-1", USEC_PER_DAY, s.now.now_us) != NULL);
	release(&s);
	bring_to(&s, INVESTIGATION_CORDONED);
	s.facts[0].cordoned = false; /* after its repair, by itself */
	CHECK_EQ(step(&s, 2), INVESTIGATION_CORDONED);
	CHECK(is_over(&s));
	release(&s);
	bring_to(&s, INVESTIGATION_CORDONED);
	s.now.run = 2;
	CHECK_EQ(step(&s, 2), INVESTIGATION_REPLACED);
	s.facts[0].cordoned = false; /* the job no longer needs it: nothing is withdrawn */
	s.facts[0].given_us = BEGAN + 3 * USEC_PER_MIN;
	CHECK_EQ(step(&s, 3), INVESTIGATION_REPLACED);
	CHECK(is_over(&s));
	release(&s);
}

static void the_furthest_host_says_where_it_is(void)
{
	struct scene s;

	bring_to(&s, INVESTIGATION_TESTING);
	s.now.n_facts = 2;
	s.facts[1] = s.facts[0];
	s.facts[1].name = names[1];
	CHECK_EQ(step(&s, 2), INVESTIGATION_TESTING);
	CHECK_EQ(s.inv.n_hosts, 2);
	ask(&s, 1, BLAME_EVICT);
	s.facts[0].boot =
		"b1"; /* it restarts within the investigation, because the other one continues */
	CHECK_EQ(step(&s, 3), INVESTIGATION_EVICT);
	CHECK_STR(s.inv.hosts[0].boot, "b1");
	s.facts[1].cordoned = true;
	CHECK_EQ(step(&s, 4), INVESTIGATION_TESTING); /* the other one still is */
	ask(&s, 0, BLAME_ACQUIT);
	CHECK_EQ(step(&s, 6), INVESTIGATION_CORDONED);
	CHECK(!is_over(&s));
	s.now.n_facts = 3; /* another host: that is for the next investigation */
	s.facts[2] = s.facts[0];
	s.facts[2].name = names[2];
	ask(&s, 2, BLAME_PROBE);
	CHECK_EQ(step(&s, 7), INVESTIGATION_CORDONED);
	CHECK(is_over(&s) && investigation_is_wanted(&s.now));
	release(&s);
}

static void a_person_withdraws_it_once(void)
{
	struct err err = ERR_INIT;
	struct scene s;

	bring_to(&s, INVESTIGATION_TESTING);
	CHECK_EQ(investigation_cancel(&s.inv, "operator ada", "it is being moved",
				      BEGAN + USEC_PER_HOUR, &err),
		 0);
	CHECK_EQ(s.inv.state, INVESTIGATION_WITHDRAWN);
	CHECK_STR(s.inv.sentence, "operator ada: it is being moved");
	CHECK_STR(s.inv.by, "operator ada");
	CHECK(is_over(&s) && !investigation_holds(&s.inv, "gpu-1"));
	CHECK(investigation_bars(&s.inv, "gpu-1", USEC_PER_DAY, BEGAN + 24 * USEC_PER_HOUR));
	CHECK(!investigation_bars(&s.inv, "gpu-1", USEC_PER_DAY, BEGAN + 25 * USEC_PER_HOUR));
	CHECK(!investigation_bars(&s.inv, "gpu-2", USEC_PER_DAY, BEGAN + USEC_PER_HOUR));
	CHECK_EQ(investigation_cancel(&s.inv, "operator bob", "again", BEGAN + 2 * USEC_PER_HOUR,
				      &err),
		 1);
	CHECK_STR(s.inv.by, "operator ada");
	release(&s);
	bring_to(&s, INVESTIGATION_CORDONED);
	CHECK_EQ(investigation_cancel(&s.inv, "operator ada", "x", BEGAN + USEC_PER_HOUR, &err), 0);
	CHECK_EQ(s.inv.hosts[0].state, INVESTIGATION_CORDONED); /* that is another order */
	CHECK(!investigation_bars(&s.inv, "gpu-1", USEC_PER_DAY, BEGAN + USEC_PER_HOUR));
	release(&s);
	bring_to(&s, INVESTIGATION_TESTING);
	acquitted(&s);
	CHECK_EQ(step(&s, 2), INVESTIGATION_ACQUITTED);
	CHECK_EQ(investigation_cancel(&s.inv, "operator ada", "x", BEGAN + USEC_PER_HOUR, &err),
		 -EALREADY);
	CHECK_STR(err.msg, "investigation 0 is over: acquitted");
	release(&s);
}

static void it_is_begun_in_mode_enforce_alone(void)
{
	static void (*const changes[])(
		struct scene * s) = { off, gone, left, cleared, acquitted, own_doing, cannot_tell };
	struct scene s;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		scene_init(&s, 1);
		changes[i](&s);
		CHECK(!investigation_is_wanted(&s.now));
		release(&s);
	}
	scene_init(&s, 1);
	s.facts[0].effect = false; /* only reported */
	CHECK(!investigation_is_wanted(&s.now));
	release(&s);
	scene_init(&s, 1);
	s.facts[0].cordoned = true;
	CHECK(!investigation_is_wanted(&s.now));
	release(&s);
}

static void of_the_tests_the_newest_stay(void)
{
	struct scene s;
	unsigned i;

	scene_init(&s, 1);
	begin(&s);
	for (i = 0; i < INVESTIGATION_TESTS_MAX + 5; i++) {
		CLEANUP(freep) char *number = xasprintf("%u", i);

		order(&s, "gpu-1", number, i, "it passed");
	}
	CHECK_EQ(step(&s, 100), INVESTIGATION_TESTING);
	CHECK_EQ(json_array_size(s.inv.tests), INVESTIGATION_TESTS_MAX);
	CHECK_STR(json_string_value(json_object_get(
			  json_array_get(s.inv.tests, INVESTIGATION_TESTS_MAX - 1), "action")),
		  "68");
	release(&s);
}

static void what_is_no_record_is_refused(void)
{
	static const char *const texts[] = {
		"{}",
		"{\"job_id\": \"j3\", \"job\": \"x\", \"state\": \"open\", \"hosts\": []}",
		"{\"job_id\": \"3\", \"job\": \"x\", \"state\": \"open\", \"began\": "
		"\"2026-01-01T00:00:00Z\", \"hosts\": [{\"node\": \"a\", \"class\": \"compute\", "
		"\"state\": \"open\"}]}",
		"{\"job_id\": \"j3\", \"job\": \"x\", \"state\": \"lost\", \"began\": "
		"\"2026-01-01T00:00:00Z\", \"hosts\": [{\"node\": \"a\", \"class\": \"compute\", "
		"\"state\": \"open\"}]}",
		"{\"job_id\": \"j3\", \"job\": \"x\", \"state\": \"open\", \"began\": "
		"\"2026-01-01T00:00:00Z\", \"hosts\": [{\"node\": \"a\", \"class\": \"what\", "
		"\"state\": \"open\"}]}",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(json_freep) json_t *value = json_loads(texts[i], 0, NULL);
		struct investigation inv;
		struct err err = ERR_INIT;

		CHECK(value != NULL);
		CHECK_EQ(investigation_read(value, &inv, &err), -EBADMSG);
		CHECK_STR(err.msg, "not an investigation");
	}
}

/* --- anything may happen --- */

static void change(struct scene *s, struct random *random)
{
	static const char *const boots[] = { NULL, "b0", "b1" };
	struct investigation_fact *fact = &s->facts[random_below(random, HOSTS)];

	fact->action = (int)random_below(random, BLAME_ACTIONS + 1) - 1;
	fact->incident = (int)random_below(random, BLAME_INCIDENTS);
	fact->effect = random_below(random, 4) > 0;
	fact->there = random_below(random, 8) > 0;
	fact->cordoned = random_below(random, 5) == 0;
	fact->runs = random_below(random, 2) == 0;
	fact->boot = boots[random_below(random, ARRAY_SIZE(boots))];
	fact->given_us = random_below(random, 8) == 0 ? s->now.now_us : 0;
	s->now.enforced = random_below(random, 16) > 0;
	s->now.silent = random_below(random, 8) == 0;
	s->now.gone = random_below(random, 64) == 0;
	s->now.run += random_below(random, 8) == 0;
	s->now.verified = random_below(random, 4) == 0 ? "as predicted" : NULL;
}

static void check_all(const struct scene *s)
{
	const struct investigation *inv = &s->inv;
	bool going = false;
	size_t i;

	for (i = 0; i < inv->n_hosts; i++) {
		const struct investigation_host *host = &inv->hosts[i];

		going |= host->state <= INVESTIGATION_EVICT;
		CHECK(host->state != INVESTIGATION_REPLACED &&
		      host->state != INVESTIGATION_VERIFIED);
		CHECK(!host->by || host->state == INVESTIGATION_WITHDRAWN);
		CHECK(inv->ended_us == 0 || !investigation_holds(inv, host->name));
	}
	CHECK_EQ(going, inv->state <= INVESTIGATION_EVICT);
	CHECK(!going || inv->ended_us == 0);
	CHECK(!going || (s->now.enforced && !s->now.gone));
	CHECK(inv->ended_us > 0 || inv->state <= INVESTIGATION_REPLACED);
	CHECK(inv->acted_us > 0 ||
	      (inv->state != INVESTIGATION_CORDONED && inv->state != INVESTIGATION_REPLACED));
}

static void check_round_trip(const struct investigation *inv)
{
	CLEANUP(json_freep) json_t *once = investigation_json(inv);
	CLEANUP(json_freep) json_t *twice = NULL;
	struct investigation read;

	CHECK_EQ(investigation_read(once, &read, NULL), 0);
	twice = investigation_json(&read);
	CHECK(json_equal(once, twice));
	investigation_release(&read);
}

static void whatever_happens_it_ends_and_says_why(void)
{
	unsigned met[INVESTIGATION_STATES] = { 0 };
	struct random random = { 12 };
	unsigned walk, i, k;

	for (walk = 0; walk < 2000; walk++) {
		struct scene s;

		scene_init(&s, HOSTS);
		begin(&s);
		for (i = 1; i < 60 && !is_over(&s); i++) {
			change(&s, &random);
			if (random_below(&random, 2) == 0) {
				CLEANUP(freep) char *number = xasprintf("%u", i);

				order(&s, names[random_below(&random, HOSTS)], number, i, NULL);
			}
			met[step(&s, i)]++;
			check_all(&s);
			check_round_trip(&s.inv);
		}
		CHECK(s.inv.sentence && *s.inv.sentence);
		release(&s);
	}
	for (k = 0; k < INVESTIGATION_STATES; k++)
		CHECK_EQ(met[k] > 0, k != INVESTIGATION_EXCLUDED); /* only in a diagnosis */
}

static void a_diagnosis_keeps_how_far_it_is_and_has_more_hosts(void)
{
	struct scene s;
	struct investigation inv;
	json_t *body;
	size_t i;

	scene_init(&s, 1);
	begin(&s);
	s.inv.kind = INVESTIGATION_DIAGNOSIS;
	s.inv.diagnosis = json_pack("{s:s}", "phase", "hosts");
	check_round_trip(&s.inv);
	body = investigation_json(&s.inv);
	CHECK_STR(json_string_value(json_object_get(body, "kind")), "diagnosis");
	for (i = 1; i < INVESTIGATION_HOSTS_MAX + 1; i++)
		(void)json_array_append(json_object_get(body, "hosts"),
					json_array_get(json_object_get(body, "hosts"), 0));
	CHECK_EQ(investigation_read(body, &inv, NULL), 0);
	CHECK_EQ(inv.n_hosts, INVESTIGATION_HOSTS_MAX + 1);
	investigation_release(&inv);
	(void)json_object_set_new(body, "kind", json_string("suspects"));
	CHECK_EQ(investigation_read(body, &inv, NULL), -EBADMSG);
	json_decref(body);
	release(&s);
}

/* ---- proven blame ---------------------------------------------------------------- */

#define DAY_MIN (24 * 60)

/* The first host is to be cordoned from minute 1 on, and its job has ended by minute 40. */
static void prove(struct scene *s)
{
	scene_init(s, 2);
	begin(s);
	order(s, "gpu-1", "7", 0, "it failed again");
	ask(s, 0, BLAME_EVICT);
	s->facts[0].since_us = BEGAN - USEC_PER_MIN;
	s->facts[0].from_us = BEGAN - USEC_PER_HOUR;
	CHECK_EQ(step(s, 1), INVESTIGATION_EVICT);
	CHECK(investigation_owes(&s->inv, &s->inv.hosts[0]));
	CHECK_EQ(s->inv.hosts[0].proven_us, BEGAN + USEC_PER_MIN);
	CHECK_EQ(s->inv.hosts[0].since_us, BEGAN - USEC_PER_MIN);
	CHECK_EQ(s->inv.hosts[0].from_us, BEGAN - USEC_PER_HOUR);
	s->facts[0].since_us = s->facts[0].from_us = 0;
	s->facts[0].proof = "gemm.rate";
	silent(s);
	CHECK_EQ(step(s, 40), INVESTIGATION_EVICT);
	CHECK(investigation_holds(&s->inv, "gpu-1"));
	CHECK_HAS(s->inv.sentence, "gpu-1: the findings for research/llm-7 stand");
}

/* From the store: proven blame survives the controller. */
static void put_away_and_take_up(struct scene *s)
{
	CLEANUP(json_freep) json_t *kept = NULL;

	s->inv.id = 1;
	kept = investigation_json(&s->inv);
	investigation_release(&s->inv);
	CHECK_EQ(investigation_read(kept, &s->inv, NULL), 0);
}

static void what_was_proven_waits_for_the_budgets(void)
{
	struct scene s;

	prove(&s);
	put_away_and_take_up(&s);
	CHECK_EQ(step(&s, 2 * DAY_MIN), INVESTIGATION_EVICT);
	s.now.silent = false; /* the job continues elsewhere, or there again */
	s.now.run = 2;
	CHECK_EQ(step(&s, 3 * DAY_MIN), INVESTIGATION_EVICT);
	ask(&s, 0, BLAME_PROBE);
	CHECK_EQ(step(&s, 3 * DAY_MIN + 1), INVESTIGATION_EVICT);
	ask(&s, 0, BLAME_WATCH);
	s.facts[0].incident = BLAME_CANNOT_TELL;
	CHECK_EQ(step(&s, 3 * DAY_MIN + 2), INVESTIGATION_EVICT);
	CHECK_EQ(s.inv.hosts[0].proven_us, BEGAN + USEC_PER_MIN);
	s.facts[0].cordoned = true;
	CHECK_EQ(step(&s, 3 * DAY_MIN + 3), INVESTIGATION_REPLACED); /* by run 2, which continues */
	CHECK(!investigation_owes(&s.inv, &s.inv.hosts[0]));
	release(&s);
}

static void gone_findings(struct scene *s)
{
	s->facts[0].proof = NULL;
}

static void same_run_clears(struct scene *s)
{
	s->now.silent = false;
}

static void too_old(struct scene *s)
{
	s->now.now_us = 0; /* step() sets it */
}

static void what_was_proven_ends_with_what_it_rests_on(void)
{
	static const struct {
		struct way way;
		unsigned minutes;
	} rows[] = {
		{ { "no window of", gone_findings, INVESTIGATION_WITHDRAWN, false }, 41 },
		{ { "no longer blame", same_run_clears, INVESTIGATION_WATCH, false }, 41 },
		{ { "has rebooted since", booted, INVESTIGATION_WITHDRAWN, false }, 41 },
		{ { "keeps gpu-1 in service", given_back, INVESTIGATION_WITHDRAWN, true }, 41 },
		{ { "no longer in the cluster", left, INVESTIGATION_WITHDRAWN, false }, 41 },
		{ { "mode is no longer enforce", off, INVESTIGATION_WITHDRAWN, false }, 41 },
		{ { "no longer known", gone, INVESTIGATION_WITHDRAWN, false }, 41 },
		{ { "two windows blame it", acquitted, INVESTIGATION_ACQUITTED, false }, 41 },
		{ { "two windows blame it", own_doing, INVESTIGATION_OWNER, false }, 41 },
		{ { "stand: ", too_old, INVESTIGATION_EVICT, false }, 7 * DAY_MIN },
		{ { "too old", too_old, INVESTIGATION_WITHDRAWN, false }, 7 * DAY_MIN + 1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct scene s;

		prove(&s);
		rows[i].way.change(&s);
		CHECK_EQ(step(&s, rows[i].minutes), rows[i].way.state);
		CHECK_HAS(s.inv.sentence, rows[i].way.why);
		CHECK_EQ(s.inv.hosts[0].by != NULL, rows[i].way.person);
		CHECK_EQ(investigation_owes(&s.inv, &s.inv.hosts[0]),
			 rows[i].way.state == INVESTIGATION_EVICT);
		release(&s);
	}
}

/* Without a failed test no blame outlasts the windows; a fatal finding needs no job. */
static void what_was_not_proven_ends_with_the_windows(void)
{
	struct scene s;

	scene_init(&s, 2);
	begin(&s);
	ask(&s, 0, BLAME_EVICT);
	CHECK_EQ(step(&s, 1), INVESTIGATION_EVICT);
	CHECK(!investigation_owes(&s.inv, &s.inv.hosts[0]));
	silent(&s);
	CHECK_EQ(step(&s, 40), INVESTIGATION_WITHDRAWN);
	release(&s);
}

static const struct test tests[] = {
	TEST(what_was_proven_waits_for_the_budgets),
	TEST(what_was_proven_ends_with_what_it_rests_on),
	TEST(what_was_not_proven_ends_with_the_windows),
	TEST(from_open_to_verified),
	TEST(each_state_ends_in_each_way_with_its_reason),
	TEST(what_waits_for_room_stays_open),
	TEST(cordoned_ends_as_it_is),
	TEST(who_gives_a_cordoned_host_back_withdraws_it),
	TEST(the_furthest_host_says_where_it_is),
	TEST(a_person_withdraws_it_once),
	TEST(it_is_begun_in_mode_enforce_alone),
	TEST(of_the_tests_the_newest_stay),
	TEST(what_is_no_record_is_refused),
	TEST(whatever_happens_it_ends_and_says_why),
	TEST(a_diagnosis_keeps_how_far_it_is_and_has_more_hosts),
};

TEST_SUITE(tests);
