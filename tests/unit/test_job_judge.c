/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/unit/job_scene.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

static void a_suspect_is_tested_then_evicted_or_acquitted(void)
{
	CLEANUP(scene_release) struct scene s;
	const struct job_judge_item *item;

	scene_init(&s);
	item = judge(&s);
	CHECK_EQ(s.out.n, 1);
	CHECK_EQ(item->action, BLAME_PROBE);
	CHECK(item->effect && !item->waits && !item->again);
	CHECK_STR(item->sentence,
		  "gpu-17: 2 of 2 windows of research/llm-7 blame it (compute, share 0.94); "
		  "test it: a trace alone takes no host out of service");
	CHECK_STR(s.out.sentence, item->sentence);
	fails(&s);
	item = judge(&s);
	CHECK_EQ(item->action, BLAME_EVICT);
	CHECK(item->effect);
	CHECK_STR(item->check, "gemm.rate");
	CHECK_STR(
		item->sentence,
		"gpu-17: 2 of 2 windows of research/llm-7 blame it (compute, share 0.94); the job "
		"and a test that failed again agree: take it out of service: gemm.rate");
	CHECK(blame_fits(&item->blame, "gemm.rate", twice_us[1], NOW));
	CHECK(!blame_fits(&item->blame, "gemm.chain", twice_us[1], NOW)); /* it has not failed */
	CHECK_EQ(item->blame.since_us, WINDOW);
	s.hosts[1].n_failures = 0;
	s.hosts[1].clean[BLAME_COMPUTE] = true;
	CHECK_EQ(judge(&s)->action, BLAME_ACQUIT);
	s.hosts[1].clean[BLAME_COMPUTE] = false;
	s.hosts[1].clean[BLAME_LINK] = true; /* irrelevant for this class */
	s.hosts[1].ladders[BLAME_COMPUTE] = LADDER_EXHAUSTED;
	CHECK_EQ(judge(&s)->action, BLAME_WATCH);
	CHECK_EQ(judge(&s)->incident, BLAME_CANNOT_TELL);
}

static void a_class_whose_predictions_fail_tests_and_takes_nobody_out(void)
{
	CLEANUP(scene_release) struct scene s;
	const struct job_judge_item *item;

	scene_init(&s);
	fails(&s);
	s.in.distrusted[BLAME_LINK] = true; /* that is another class */
	CHECK_EQ(judge(&s)->action, BLAME_EVICT);
	CHECK(!judge(&s)->distrusted);
	s.in.distrusted[BLAME_COMPUTE] = true;
	item = judge(&s);
	CHECK_EQ(item->action, BLAME_PROBE);
	CHECK(item->effect && item->distrusted);
	CHECK_EQ(item->blame.class, BLAME_NOTHING);
	CHECK_HAS(item->sentence, "jobs.trust");
	s.hosts[1].fatal = true; /* independent of the job */
	CHECK_EQ(judge(&s)->action, BLAME_EVICT);
}

static void a_failed_test_counts_only_when_it_proves_something(void)
{
	static const uint64_t close_us[] = { NOW - 6 * USEC_PER_MIN, NOW - 5 * USEC_PER_MIN };
	static const uint64_t again_us[] = { NOW - 6 * USEC_PER_MIN, NOW - 5 * USEC_PER_MIN,
					     NOW - USEC_PER_MIN };
	static const uint64_t before_us[] = { SUSPECTED - USEC_PER_HOUR, NOW - USEC_PER_MIN };
	enum { BUSY = 1, NO_REFERENCE = 2, OLD_BOOT = 4, NO_PARTNER = 8 };
	static const struct {
		const char *check;
		int class;
		const uint64_t *failed_us;
		size_t n_failed;
		uint64_t ordered_us;
		unsigned flaws;
		int evidence;
	} rows[] = {
		{ "gemm.rate", BLAME_COMPUTE, twice_us, 2, SUSPECTED, 0, EVIDENCE_BAD },
		{ "gemm.rate", BLAME_COMPUTE, twice_us, 2, SUSPECTED, BUSY, EVIDENCE_NONE },
		{ "gemm.rate", BLAME_COMPUTE, twice_us, 2, SUSPECTED, NO_REFERENCE, EVIDENCE_NONE },
		{ "gemm.rate", BLAME_COMPUTE, twice_us, 2, SUSPECTED, OLD_BOOT, EVIDENCE_NONE },
		{ "gemm.rate", BLAME_COMPUTE, twice_us, 2, SUSPECTED - 1, 0, EVIDENCE_NONE },
		{ "gemm.rate", BLAME_COMPUTE, twice_us, 2, 0, 0, EVIDENCE_NONE },
		{ "gemm.rate", BLAME_COMPUTE, twice_us, 1, SUSPECTED, 0, EVIDENCE_NONE },
		{ "gemm.rate", BLAME_COMPUTE, twice_us, 0, SUSPECTED, 0, EVIDENCE_NONE },
		{ "gemm.rate", BLAME_COMPUTE, close_us, 2, SUSPECTED, 0, EVIDENCE_NONE },
		{ "gemm.rate", BLAME_COMPUTE, again_us, 3, SUSPECTED, 0, EVIDENCE_BAD },
		{ "gemm.rate", BLAME_COMPUTE, before_us, 2, SUSPECTED, 0, EVIDENCE_NONE },
		{ "gemm.rate", BLAME_LINK, twice_us, 2, SUSPECTED, 0, EVIDENCE_OTHER },
		{ "gemm.correct", BLAME_COMPUTE, twice_us, 2, SUSPECTED, 0, EVIDENCE_OTHER },
		{ "loopback.write_bw", BLAME_LINK, twice_us, 2, SUSPECTED, 0, EVIDENCE_BAD },
		{ "rnic_pair.write_bw", BLAME_LINK, twice_us, 2, SUSPECTED, 0, EVIDENCE_BAD },
		{ "rnic_pair.write_bw", BLAME_LINK, twice_us, 2, SUSPECTED, NO_PARTNER,
		  EVIDENCE_NONE },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(scene_release) struct scene s;

		scene_init(&s);
		s.failure =
			(struct job_judge_failure){ .check = rows[i].check,
						    .failed_us = rows[i].failed_us,
						    .n_failed = rows[i].n_failed,
						    .ordered_us = rows[i].ordered_us,
						    .same_boot = !(rows[i].flaws & OLD_BOOT),
						    .idle = !(rows[i].flaws & BUSY),
						    .reference = !(rows[i].flaws & NO_REFERENCE),
						    .partner_good = !(rows[i].flaws & NO_PARTNER) };
		s.suspects.items[0].class = rows[i].class;
		fails(&s);
		CHECK_STR(blame_evidence_names[judge(&s)->evidence],
			  blame_evidence_names[rows[i].evidence]);
		CHECK_EQ(judge(&s)->action == BLAME_EVICT,
			 rows[i].evidence == EVIDENCE_BAD && rows[i].class == BLAME_COMPUTE);
		/* With any failure the host is not clean. */
		s.hosts[1].clean[rows[i].class] = true;
		CHECK(judge(&s)->action != BLAME_ACQUIT || rows[i].flaws || rows[i].n_failed == 0);
	}
}

/* Later, when no window blames it any more: with the same evidence as before, not less. */
static void what_is_proven_stands_as_long_as_its_evidence(void)
{
	static const uint64_t once_us[] = { NOW - 5 * USEC_PER_MIN };
	CLEANUP(scene_release) struct scene s;
	struct job_judge_host *host = &s.hosts[1];

	scene_init(&s);
	CHECK(!job_judge_proves(&s.policy, BLAME_COMPUTE, host));
	fails(&s);
	CHECK_STR(job_judge_proves(&s.policy, BLAME_COMPUTE, host), "gemm.rate");
	CHECK(!job_judge_proves(&s.policy, BLAME_LINK, host));
	CHECK(!job_judge_proves(&s.policy, BLAME_LAUNCH, host));
	CHECK(!job_judge_proves(&s.policy, BLAME_JOB, host));
	host->booted = true;
	CHECK(!job_judge_proves(&s.policy, BLAME_COMPUTE, host));
	host->booted = false;
	host->fatal = true; /* that goes by its own rule */
	CHECK(!job_judge_proves(&s.policy, BLAME_COMPUTE, host));
	host->fatal = false;
	host->suspected_us = 0;
	CHECK(!job_judge_proves(&s.policy, BLAME_COMPUTE, host));
	host->suspected_us = SUSPECTED;
	s.failure.failed_us = once_us; /* one passed in between */
	s.failure.n_failed = 1;
	CHECK(!job_judge_proves(&s.policy, BLAME_COMPUTE, host));
	s.failure = slow_gemm;
	s.failure.same_boot = false;
	CHECK(!job_judge_proves(&s.policy, BLAME_COMPUTE, host));
	s.failure = slow_gemm;
	s.failure.reference = false;
	CHECK(!job_judge_proves(&s.policy, BLAME_COMPUTE, host));
}

static void one_window_and_a_failure_ask_for_that_test_again(void)
{
	CLEANUP(scene_release) struct scene s;
	const uint64_t early_us = WINDOW - BLAME_BEFORE_US, too_early_us = early_us - 1;

	scene_init(&s);
	s.suspects.items[0].counts = BLAME_ONE_WINDOW;
	s.suspects.items[0].hits = s.suspects.items[0].of = 1;
	s.hosts[1].suspected_us = 0;
	CHECK_EQ(judge(&s)->action, BLAME_WATCH);
	fails(&s);
	s.failure.failed_us = &early_us;
	s.failure.n_failed = 1;
	s.failure.ordered_us = 0;
	CHECK_EQ(judge(&s)->action, BLAME_PROBE);
	CHECK(judge(&s)->again);
	CHECK_STR(judge(&s)->check, "gemm.rate");
	CHECK_HAS(judge(&s)->sentence, "gpu-17: 1 of 1 window of research/llm-7 blame it");
	s.failure.failed_us = &too_early_us;
	CHECK_EQ(judge(&s)->action, BLAME_WATCH);
}

static void a_host_outside_the_job_is_neither_blamed_nor_tested(void)
{
	static const char *const mixed[] = { "gpu-17", "gpu-99" };
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	fails(&s);
	s.hosts[1].placed = false; /* two sources disagree, or its pod moved */
	CHECK_EQ(judge(&s)->action, 0);
	CHECK_EQ(s.out.n, 0);
	CHECK_EQ(s.out.strangers, 1);
	CHECK_EQ(s.out.action, BLAME_WATCH);
	CHECK_STR(s.out.sentence, "research/llm-7: no window blames a host");
	s.hosts[1].placed = true;
	s.suspects.items[0].hosts = mixed;
	s.suspects.items[0].n_hosts = 2;
	(void)judge(&s);
	CHECK_EQ(s.out.n, 1);
	CHECK_STR(s.out.items[0].host->name, "gpu-17");
	CHECK_EQ(s.out.strangers, 1);
	s.in.n_hosts = 0;
	(void)judge(&s);
	CHECK_EQ(s.out.n, 0);
	CHECK_EQ(s.out.strangers, 2);
}

static void a_suspect_that_booted_or_is_coarse_is_tested_and_never_evicted(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	fails(&s);
	s.hosts[1].booted = true;
	CHECK_EQ(judge(&s)->limit, LIMIT_BOOTED);
	CHECK_EQ(judge(&s)->action, BLAME_PROBE);
	s.hosts[1].ladders[BLAME_COMPUTE] = LADDER_EXHAUSTED;
	CHECK_EQ(judge(&s)->action, BLAME_WATCH);
	s.hosts[1].booted = false;
	CHECK_EQ(judge(&s)->action, BLAME_EVICT);
	s.suspects.items[0].coarse = true;
	CHECK_EQ(judge(&s)->limit, LIMIT_COARSE);
	CHECK_EQ(judge(&s)->action, BLAME_WATCH);
	s.hosts[1].ladders[BLAME_COMPUTE] = LADDER_RUNNING;
	CHECK_EQ(judge(&s)->action, BLAME_PROBE);
	s.hosts[1].fatal = true;
	CHECK_EQ(judge(&s)->action, BLAME_WATCH);
	CHECK_EQ(judge(&s)->blame.class, BLAME_NOTHING);
}

static void the_mode_says_whether_it_is_done(void)
{
	CLEANUP(scene_release) struct scene s;
	int ours, rules;

	scene_init(&s);
	for (ours = MODE_OBSERVE; ours <= MODE_ENFORCE; ours++) {
		for (rules = MODE_OBSERVE; rules <= MODE_ENFORCE; rules++) {
			s.policy.jobs.mode = ours;
			s.policy.mode = rules;
			CHECK_EQ(judge(&s)->action, BLAME_PROBE);
			CHECK_EQ(judge(&s)->effect, ours == MODE_ENFORCE && rules == MODE_ENFORCE);
			CHECK_EQ(s.out.mode, MIN(ours, rules));
		}
	}
}

static void an_acquittal_holds_for_its_time_but_not_against_a_fatal_finding(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	fails(&s);
	s.hosts[1].acquitted_us = NOW - USEC_PER_DAY + 1;
	CHECK_EQ(judge(&s)->action, BLAME_WATCH);
	CHECK_HAS(judge(&s)->sentence, "acquitted it for this job");
	s.hosts[1].acquitted_us = NOW - USEC_PER_DAY;
	CHECK_EQ(judge(&s)->action, BLAME_EVICT);
	s.hosts[1].acquitted_us = NOW - 1;
	s.hosts[1].fatal = true;
	CHECK_EQ(judge(&s)->action, BLAME_EVICT);
}

static void a_busy_suspect_waits(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	s.hosts[1].idle = false;
	CHECK_EQ(judge(&s)->action, BLAME_PROBE);
	CHECK(judge(&s)->waits);
	s.policy.jobs.busy = BUSY_NEVER;
	CHECK_EQ(judge(&s)->action, BLAME_WATCH);
	CHECK_HAS(judge(&s)->sentence, "jobs.busy");
}

static void one_that_is_busy_for_too_long_is_given_up(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	s.hosts[1].idle = false;
	s.hosts[1].waits_us = NOW - USEC_PER_DAY + 1;
	CHECK(judge(&s)->waits);
	s.hosts[1].waits_us = NOW - USEC_PER_DAY;
	CHECK_EQ(judge(&s)->action, BLAME_WATCH);
	CHECK(judge(&s)->given_up && !judge(&s)->waits && !judge(&s)->effect);
	CHECK_HAS(judge(&s)->sentence, "jobs.busy_limit");
	s.hosts[1].idle = true; /* stays so during the same suspicion */
	CHECK(judge(&s)->given_up);
	s.hosts[1].ladders[BLAME_COMPUTE] =
		LADDER_RUNNING; /* but a running test is not interrupted */
	CHECK_EQ(judge(&s)->action, BLAME_PROBE);
	fails(&s);
	CHECK_EQ(judge(&s)->action, BLAME_EVICT);
}

static void tests_are_spread_over_racks_and_time(void)
{
	static const char *const all[] = { "gpu-16", "gpu-17", "gpu-18" };
	struct job_judge_load loads[] = { { "gpu-40", "rack-1", NOW - JOB_JUDGE_APART_US },
					  { "gpu-41", "rack-2", NOW - 1 },
					  { "gpu-42", NULL, NOW - 1 } }; /* asked for */
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	s.suspects.items[0].hosts = all;
	s.suspects.items[0].n_hosts = ARRAY_SIZE(all);
	s.hosts[0].domain = s.hosts[1].domain = "rack-1";
	s.in.loads = loads;
	s.in.n_loads = ARRAY_SIZE(loads);
	CHECK_EQ(judge(&s)->action, BLAME_PROBE); /* the second of two in its rack */
	CHECK_EQ(s.out.items[1].action, BLAME_WATCH);
	CHECK_HAS(s.out.items[1].sentence, "jobs.per_domain");
	CHECK_EQ(s.out.items[2].action, BLAME_PROBE); /* its rack is unknown */
	s.policy.jobs.per_domain = 3;
	(void)judge(&s);
	CHECK_EQ(s.out.items[1].action, BLAME_WATCH); /* the previous one begins by this result */
	CHECK_HAS(s.out.items[1].sentence, "has just started");
	loads[0].since_us++;
	CHECK_EQ(judge(&s)->action, BLAME_WATCH);
	s.hosts[0].idle = false; /* it waits for its job, and does not count as load yet */
	CHECK(judge(&s)->waits);
	CHECK_EQ(s.out.items[1].action, BLAME_WATCH);
	s.hosts[0].idle = true;
	loads[0].host = "gpu-16"; /* a running test keeps its slot, and uses only one */
	CHECK_EQ(judge(&s)->action, BLAME_PROBE);
	CHECK_EQ(s.out.items[1].action, BLAME_WATCH);
	loads[0].since_us = NOW - JOB_JUDGE_APART_US;
	(void)judge(&s);
	CHECK_EQ(s.out.items[1].action, BLAME_PROBE);
	s.policy.jobs.per_domain = 1;
	loads[0].host = "gpu-40";
	loads[0].since_us = NOW - JOB_JUDGE_GRACE_US + 1;
	CHECK_EQ(judge(&s)->action, BLAME_WATCH);
	loads[0].since_us--; /* its test is blocked: it does not count as load */
	CHECK_EQ(judge(&s)->action, BLAME_PROBE);
	loads[0].under_way = true;
	CHECK_EQ(judge(&s)->action, BLAME_WATCH);
	loads[0].under_way = false;
	s.hosts[0].ladders[BLAME_COMPUTE] = LADDER_RUNNING;
	CHECK_EQ(judge(&s)->action, BLAME_PROBE);
	CHECK_EQ(s.out.items[1].action, BLAME_WATCH);
	s.policy.jobs.mode = MODE_DRY_RUN; /* nothing is loaded */
	(void)judge(&s);
	CHECK_EQ(s.out.items[1].action, BLAME_PROBE);
}

static void a_host_that_was_acquitted_and_several_accuse_is_told_to_a_person(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	s.hosts[1].acquitted_us = NOW - 1;
	s.hosts[1].accusers = 1;
	CHECK_EQ(judge(&s)->incident, BLAME_QUIET);
	CHECK(judge(&s)->acquitted);
	s.hosts[1].accusers = 2;
	CHECK_EQ(judge(&s)->action, BLAME_WATCH);
	CHECK_EQ(judge(&s)->incident, BLAME_ACCUSED);
	CHECK_HAS(judge(&s)->sentence, "2 jobs have accused it within 7d: an operator should look");
	s.hosts[1].acquitted_us = 0; /* by another job: its own tests go on */
	CHECK_EQ(judge(&s)->action, BLAME_PROBE);
	CHECK_EQ(judge(&s)->incident, BLAME_ACCUSED);
	s.policy.jobs.acquit_jobs = 3;
	CHECK_EQ(judge(&s)->incident, BLAME_QUIET);
	s.policy.jobs.acquit_jobs = 2;
	s.suspects.items[0].counts = BLAME_ONE_WINDOW;
	CHECK_EQ(judge(&s)->incident, BLAME_QUIET);
	s.suspects.items[0].counts = BLAME_K_OF_N;
	fails(&s);
	CHECK_EQ(judge(&s)->action, BLAME_EVICT); /* findings of its own tests still count */
	CHECK_EQ(judge(&s)->incident, BLAME_QUIET);
}

static void where_tests_do_not_tell_it_is_said_what_would(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	s.hosts[1].ladders[BLAME_COMPUTE] = LADDER_EXHAUSTED;
	CHECK_STR(judge(&s)->tells, blame_rungs(BLAME_COMPUTE));
	s.hosts[1].missing[BLAME_COMPUTE] = "gemm.rate held against others";
	CHECK_STR(judge(&s)->tells, "gemm.rate held against others");
	CHECK_HAS(judge(&s)->sentence, "; what would tell: gemm.rate held against others");
	fails(&s);
	s.suspects.items[0].coarse = true;
	CHECK_HAS(judge(&s)->tells, "--ages");
	s.suspects.items[0].coarse = false;
	s.hosts[1].booted = true;
	CHECK_HAS(judge(&s)->tells, "since the host booted");
	s.failure.check = "rnic.errors";
	CHECK_HAS(judge(&s)->tells, "once rnic.errors is fixed");
	s.hosts[1].ladders[BLAME_COMPUTE] = LADDER_RUNNING;
	CHECK(!judge(&s)->tells);
}

static void what_the_job_does_itself_goes_to_its_owner(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	s.in.class = BLAME_JOB;
	s.suspects.n = 0;
	(void)judge(&s);
	CHECK_EQ(s.out.action, BLAME_OWNER);
	CHECK_STR(s.out.sentence, "research/llm-7: the job slows itself down: no host is to blame");
	s.in.class = BLAME_UNCLEAR;
	(void)judge(&s);
	CHECK_EQ(s.out.action, BLAME_WATCH); /* 1.09 */
	s.in.slowdown = 1.1;
	(void)judge(&s);
	CHECK_EQ(s.out.action, BLAME_OWNER);
	s.in.class = BLAME_NOTHING;
	(void)judge(&s);
	CHECK_EQ(s.out.action, BLAME_WATCH);
}

/* ---- many at once ------------------------------------------------------------- */

enum { MANY = 60, SETS = 20 };

/* A job of MANY hosts, drawn. Names ascend. */
struct crowd {
	char names[MANY][8];
	struct job_judge_host hosts[MANY];
	struct job_judge_failure failures[MANY];
	const char *sets[SETS][3];
	struct suspicion_list suspects;
};

static struct job_judge_input draw(struct crowd *c, struct random *random)
{
	const struct job_judge_input in = { .job = "j",
					    .class = (int)random_below(random, BLAME_CLASSES),
					    .slowdown = 1.2,
					    .suspects = &c->suspects,
					    .hosts = c->hosts,
					    .n_hosts = MANY,
					    .investigations = random_below(random, 5),
					    .under_way = random_below(random, 70) };
	static const int accusing[] = { BLAME_COMPUTE, BLAME_LINK, BLAME_FABRIC, BLAME_LAUNCH };
	size_t i, k;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < MANY; i++) {
		struct job_judge_host *h = &c->hosts[i];

		(void)snprintf(c->names[i], sizeof(c->names[i]), "h%02zu", i);
		c->failures[i] = slow_gemm;
		c->failures[i].check = random_below(random, 2) ? "gemm.rate" : "rnic.errors";
		c->failures[i].idle = random_below(random, 4) > 0;
		*h = (struct job_judge_host){ .name = c->names[i],
					      .placed = random_below(random, 8) > 0,
					      .booted = random_below(random, 8) == 0,
					      .fatal = random_below(random, 16) == 0,
					      .idle = random_below(random, 2),
					      .suspected_us = random_below(random, 2) * SUSPECTED,
					      .end = (int)random_below(random, ENDS),
					      .failures = &c->failures[i],
					      .n_failures = random_below(random, 2) };
		for (k = 0; k < BLAME_CLASSES; k++) {
			h->ladders[k] = random_below(random, 4)
						? LADDER_NOT_RUN
						: (int)random_below(random, LADDERS);
			h->clean[k] = random_below(random, 2);
			h->differs[k] = random_below(random, 8) == 0;
		}
	}
	c->suspects.n = random_below(random, SETS + 1);
	for (i = 0; i < c->suspects.n; i++) {
		struct suspicion_found *f = &c->suspects.items[i];

		*f = (struct suspicion_found){ .hosts = c->sets[i],
					       .n_hosts = 1 + random_below(random, 3),
					       .class = accusing[random_below(random, 4)],
					       .counts = 1 + (int)random_below(random, 2),
					       .hits = 2,
					       .of = 3,
					       .coarse = random_below(random, 4) == 0,
					       .identifiable = random_below(random, 8) > 0,
					       .from_us = WINDOW,
					       .until_us = NOW };
		for (k = 0; k < f->n_hosts; k++)
			c->sets[i][k] = random_below(random, 10)
						? c->names[random_below(random, MANY)]
						: "stranger";
	}
	return in;
}

static bool has_ladder(const struct job_judge_host *h)
{
	size_t k;

	for (k = 0; k < BLAME_CLASSES; k++) {
		if (h->ladders[k] == LADDER_RUNNING)
			return true;
	}
	return false;
}

/* Hosts whose tests are started by this result. */
static uint64_t count_begun(const struct job_judge_result *out)
{
	uint64_t n = 0;
	size_t i, k;

	for (i = 0; i < out->n; i++) {
		bool first = out->items[i].action == BLAME_PROBE && !has_ladder(out->items[i].host);

		for (k = 0; first && k < i; k++)
			first = out->items[k].host != out->items[i].host ||
				out->items[k].action != BLAME_PROBE;
		n += first;
	}
	return n;
}

static uint64_t count_running(const struct crowd *c)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < MANY; i++)
		n += has_ladder(&c->hosts[i]);
	return n;
}

static void check_item(const struct job_judge_item *item)
{
	const struct job_judge_host *h = item->host;

	CHECK(h->placed);
	CHECK(starts_with(item->sentence, h->name));
	CHECK(!strchr(item->sentence, '\n'));
	if (item->action == BLAME_EVICT) {
		CHECK(!h->booted && !item->suspect->coarse);
		CHECK(h->fatal || (h->n_failures > 0 && h->failures[0].idle && h->suspected_us > 0));
		CHECK_EQ(item->blame.class, h->fatal ? BLAME_NOTHING : item->suspect->class);
	}
	if (item->action == BLAME_ACQUIT)
		CHECK(h->clean[item->suspect->class] && !h->differs[item->suspect->class] &&
		      !h->fatal && (h->n_failures == 0 || !h->failures[0].idle));
	CHECK(!item->effect || item->action >= BLAME_PROBE);
}

static void whatever_the_facts_are_the_rules_hold(void)
{
	struct random random = random_seeded(11);
	size_t round, i, probes = 0, evictions = 0, acquittals = 0, strangers = 0;

	for (round = 0; round < test_times(20000, 3000); round++) {
		CLEANUP(job_judge_release) struct job_judge_result out;
		struct policy policy = policy_init();
		struct crowd c;
		const struct job_judge_input in = draw(&c, &random);
		uint64_t begun, running = count_running(&c), claims = 0;

		policy.mode = policy.jobs.mode = (int)random_below(&random, 3);
		policy.jobs.ladder_hosts = 1 + random_below(&random, 20);
		job_judge(&policy, &in, NOW, &out);
		begun = count_begun(&out);
		for (i = 0; i < c.suspects.n; i++)
			claims += c.suspects.items[i].n_hosts;
		CHECK_EQ(out.n + out.strangers, claims);
		CHECK(begun == 0 || begun + running <= policy.jobs.ladder_hosts);
		CHECK(begun == 0 || begun + running + in.under_way <= policy.jobs.at_once);
		CHECK(begun == 0 || running > 0 || in.investigations < policy.jobs.investigations);
		for (i = 0; i < out.n; i++) {
			check_item(&out.items[i]);
			CHECK(policy.mode == MODE_ENFORCE || !out.items[i].effect);
			CHECK(out.items[i].action <= MAX(out.action, (int)BLAME_OWNER));
			probes += out.items[i].action == BLAME_PROBE;
			evictions += out.items[i].action == BLAME_EVICT;
			acquittals += out.items[i].action == BLAME_ACQUIT;
		}
		strangers += out.strangers;
	}
	CHECK(probes > 100 && evictions > 100 && acquittals > 100 && strangers > 100);
}

static uint64_t kept(struct scene *s)
{
	const struct job_judge_item *item = judge(s);

	return job_judge_keep(&s->policy, &s->out, item);
}

static void a_suspicion_is_kept_for_its_tests_until_they_are_done(void)
{
	CLEANUP(scene_release) struct scene s;
	const struct job_judge_item *item;
	struct blame blame;

	scene_init(&s);
	CHECK_EQ(kept(&s), SUSPECTED + s.policy.jobs.busy_limit_us);
	s.hosts[1].idle = false; /* it waits */
	CHECK_EQ(kept(&s), SUSPECTED + s.policy.jobs.busy_limit_us);
	s.hosts[1].ladders[BLAME_COMPUTE] = LADDER_RUNNING;
	CHECK_EQ(kept(&s), SUSPECTED + s.policy.jobs.busy_limit_us);
	/* A silent host, or an idle one that answers no test, lapses like any other. */
	s.hosts[1].asked_us = NOW - 20 * USEC_PER_MIN;
	CHECK_EQ(kept(&s), SUSPECTED + s.policy.jobs.busy_limit_us);
	s.hosts[1].heard_us = NOW - 5 * USEC_PER_MIN;
	CHECK_EQ(kept(&s), NOW - 5 * USEC_PER_MIN + s.policy.silent_after_us);
	s.hosts[1].idle = true;
	s.policy.retest_timeout_us = 22 * USEC_PER_MIN;
	CHECK_EQ(kept(&s), NOW + 2 * USEC_PER_MIN + s.policy.jobs.retest_spacing_us);
	/* A hold is passed to the policy until it ends, however old the windows are. */
	s.suspects.items[0].until_us = NOW - 2 * USEC_PER_HOUR;
	item = judge(&s);
	CHECK(job_judge_blame(&s.policy, "job", &s.out, item, SUSPECTED, &blame));
	CHECK(!blame_holds(&blame, NOW));
	s.suspects.items[0].kept_us = NOW + USEC_PER_HOUR;
	item = judge(&s);
	CHECK(job_judge_blame(&s.policy, "job", &s.out, item, SUSPECTED, &blame));
	CHECK(blame_holds(&blame, NOW + USEC_PER_HOUR - 1));
	s.hosts[1].answered_us = NOW - USEC_PER_MIN;
	CHECK(job_judge_blame(&s.policy, "job", &s.out, judge(&s), SUSPECTED, &blame));
	CHECK_EQ(blame.answered_us, NOW - USEC_PER_MIN);
	CHECK(!blame_holds(&blame, NOW + USEC_PER_HOUR));
}

static void nobody_is_kept_who_is_not_to_be_tested(void)
{
	enum { ONE, COARSE, BOOTED, SHOWN, LINK, ACQUITTED, DONE, OFTEN, GIVEN_UP, N };
	int i;

	for (i = 0; i < N; i++) {
		CLEANUP(scene_release) struct scene s;

		scene_init(&s);
		CHECK(kept(&s) > NOW);
		s.suspects.items[0].counts = i == ONE ? BLAME_ONE_WINDOW : BLAME_K_OF_N;
		s.suspects.items[0].coarse = i == COARSE;
		s.suspects.items[0].class = i == LINK ? BLAME_LINK : BLAME_COMPUTE;
		s.hosts[1].booted = i == BOOTED;
		s.policy.jobs.mode = i == SHOWN ? MODE_OBSERVE : MODE_ENFORCE;
		s.hosts[1].acquitted_us = i == ACQUITTED ? NOW - 1 : 0;
		s.hosts[1].ladders[BLAME_COMPUTE] = i == DONE ? LADDER_EXHAUSTED : LADDER_NOT_RUN;
		s.in.investigations = i == OFTEN ? s.policy.jobs.investigations : 0;
		s.hosts[1].waits_us = i == GIVEN_UP ? NOW - s.policy.jobs.busy_limit_us : 0;
		CHECK_EQ(kept(&s), 0);
	}
}

static void who_waits_for_the_tests_of_others_is_kept(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	s.in.under_way = s.policy.jobs.at_once;
	CHECK_EQ(judge(&s)->action, BLAME_WATCH);
	CHECK(judge(&s)->queued);
	CHECK(kept(&s) > NOW);
	s.policy.jobs.mode = MODE_DRY_RUN;
	CHECK_EQ(kept(&s), 0);
}

static const struct test tests[] = {
	TEST(a_suspect_is_tested_then_evicted_or_acquitted),
	TEST(a_class_whose_predictions_fail_tests_and_takes_nobody_out),
	TEST(a_failed_test_counts_only_when_it_proves_something),
	TEST(what_is_proven_stands_as_long_as_its_evidence),
	TEST(one_window_and_a_failure_ask_for_that_test_again),
	TEST(a_host_outside_the_job_is_neither_blamed_nor_tested),
	TEST(a_suspect_that_booted_or_is_coarse_is_tested_and_never_evicted),
	TEST(the_mode_says_whether_it_is_done),
	TEST(an_acquittal_holds_for_its_time_but_not_against_a_fatal_finding),
	TEST(a_busy_suspect_waits),
	TEST(one_that_is_busy_for_too_long_is_given_up),
	TEST(tests_are_spread_over_racks_and_time),
	TEST(a_host_that_was_acquitted_and_several_accuse_is_told_to_a_person),
	TEST(where_tests_do_not_tell_it_is_said_what_would),
	TEST(what_the_job_does_itself_goes_to_its_owner),
	TEST(whatever_the_facts_are_the_rules_hold),
	TEST(a_suspicion_is_kept_for_its_tests_until_they_are_done),
	TEST(nobody_is_kept_who_is_not_to_be_tested),
	TEST(who_waits_for_the_tests_of_others_is_kept),
};

TEST_SUITE(tests);
