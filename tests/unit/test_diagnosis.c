/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diagnosis of a job of 2 to 64 hosts whose bad hosts fail their own test, or only tests with
 * others: hosts are tested as diagnosis_next() says, and the campaign is the real pairing, on a
 * simulated fabric.
 */
#include "lib/policy/diagnosis.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/unit/pairing_world.h"
#include "tests/unit/test.h"

enum {
	RUNS = 12,
	RUNS_FULL = 1000,
	PER_LEAF = 8,
	TESTS_AT_ONCE = 16,
	BAD_MAX = 3,
	STEPS_MAX = 4096
};

static const size_t sizes[] = { 2, 3, 4, 5, 8, 11, 16, 23, 32, 45, 64 };

/* What is bad of the hosts that are. */
enum fault { SEEN_ALONE, SEEN_WITH_OTHERS, EITHER, NO_ANSWER, FAULTS };

static const char *const fault_names[] = { "by its own test", "with others", "either way",
					   "some bring nothing" };

struct lab {
	size_t n, n_bad, asked, rounds, collectives;
	struct diagnosis_host hosts[DIAGNOSIS_HOSTS_MAX];
	char names[DIAGNOSIS_HOSTS_MAX][16], racks[DIAGNOSIS_HOSTS_MAX][16];
	bool bad[DIAGNOSIS_HOSTS_MAX], shy[DIAGNOSIS_HOSTS_MAX]; /* shy: brings no answer */
	double rate[DIAGNOSIS_HOSTS_MAX];			 /* with others */
	struct diagnosis_input in;
	struct random chance;
	uint64_t now_us;
};

static void break_one(struct lab *lab, enum fault fault)
{
	const bool alone = fault == SEEN_ALONE ||
			   (fault != SEEN_WITH_OTHERS && random_below(&lab->chance, 2));
	size_t place = random_below(&lab->chance, lab->n);

	while (lab->bad[place])
		place = (place + 1) % lab->n;
	lab->bad[place] = true;
	/* A part that fails alone may, or may not, be felt by others. */
	lab->rate[place] = alone ? 1 : 0.4 + 0.3 * random_unit(&lab->chance);
}

static struct lab *lab_new(size_t n, size_t n_bad, enum fault fault, uint64_t seed)
{
	struct lab *lab = xcalloc(1, sizeof(*lab));
	size_t i;

	lab->n = n;
	lab->n_bad = n_bad;
	lab->chance = random_seeded(seed * 7919 + n * 16 + n_bad * 4 + fault);
	lab->now_us = USEC_PER_DAY;
	for (i = 0; i < n; i++) {
		(void)snprintf(lab->names[i], sizeof(lab->names[i]), "gpu-%zu", i);
		(void)snprintf(lab->racks[i], sizeof(lab->racks[i]), "rack-%zu", i / PER_LEAF);
		lab->rate[i] = 1;
		lab->hosts[i] = (struct diagnosis_host){ .name = lab->names[i],
							 .domain = lab->racks[i],
							 .idle = true };
		lab->shy[i] = fault == NO_ANSWER && random_below(&lab->chance, 8) == 0;
	}
	for (i = 0; i < n_bad; i++)
		break_one(lab, fault);
	lab->in = (struct diagnosis_input){
		.hosts = lab->hosts, .n = n, .per_domain = 2, .at_once = TESTS_AT_ONCE
	};
	return lab;
}

static void lab_free(struct lab **lab)
{
	free(*lab);
}

/* Those that are asked answer after a minute or two. */
static void answer(struct lab *lab)
{
	size_t i;

	for (i = 0; i < lab->n; i++) {
		struct diagnosis_host *host = &lab->hosts[i];

		if (host->test != DIAGNOSIS_ASKED ||
		    lab->now_us < host->asked_us + USEC_PER_MIN * (1 + i % 2))
			continue;
		host->under_way = false;
		host->test = lab->shy[i]			? DIAGNOSIS_NOTHING
			     : lab->bad[i] && lab->rate[i] == 1 ? DIAGNOSIS_FAILED
								: DIAGNOSIS_PASSED;
	}
}

static void check_budgets(const struct lab *lab)
{
	size_t in_rack[DIAGNOSIS_HOSTS_MAX] = { 0 }, all = 0, i;

	for (i = 0; i < lab->n; i++) {
		if (lab->hosts[i].test != DIAGNOSIS_ASKED)
			continue;
		all++;
		CHECK(++in_rack[i / PER_LEAF] <= lab->in.per_domain);
	}
	CHECK(all <= lab->in.at_once);
}

static void ask(struct lab *lab, const struct diagnosis_step *step)
{
	size_t i;

	for (i = 0; i < lab->n; i++) {
		if (!step->ask[i])
			continue;
		CHECK_EQ(lab->hosts[i].test, DIAGNOSIS_NOT_ASKED);
		lab->hosts[i].test = DIAGNOSIS_ASKED;
		lab->hosts[i].asked_us = lab->now_us;
		lab->hosts[i].under_way = true;
		lab->asked++;
	}
	check_budgets(lab);
}

/* What the campaign says of its hosts, as the controller reads it. */
static void take_blames(struct lab *lab, const struct pairing_step *said, const size_t *places,
			size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		lab->hosts[places[i]].side = DIAGNOSIS_SIDE_GOOD;
	for (i = 0; i < said->n_blames; i++) {
		const struct pairing_blame *b = &said->blames[i];
		size_t k;

		for (k = 0; k < n && b->node == SIZE_MAX; k++) {
			if (lab->hosts[places[k]].side == DIAGNOSIS_SIDE_GOOD)
				lab->hosts[places[k]].side = DIAGNOSIS_SIDE_UNKNOWN;
		}
		if (b->node < n)
			lab->hosts[places[b->node]].side = b->kind == PAIRING_UNDECIDED
								   ? DIAGNOSIS_SIDE_UNKNOWN
								   : DIAGNOSIS_SIDE_BAD;
	}
}

static void run_campaign(struct lab *lab, const struct diagnosis_step *step)
{
	CLEANUP(world_freep) struct world *w = NULL;
	struct pairing_step said;
	size_t places[DIAGNOSIS_HOSTS_MAX], n = 0, good, i;

	for (i = 0; i < lab->n; i++) {
		if (step->ask[i])
			places[n++] = i;
	}
	good = MIN((size_t)DIAGNOSIS_GOOD_MAX, DIAGNOSIS_GROUP_MAX - n);
	lab->in.groups = DIAGNOSIS_GROUPS_CANNOT;
	if (n + good < DIAGNOSIS_GROUP_MIN)
		return;
	w = world_new(n + good, 1, DIAGNOSIS_GROUP_MAX, random_next(&lab->chance));
	for (i = 0; i < n; i++)
		w->node[i] = lab->rate[places[i]];
	for (i = n; i < n + good; i++)
		w->nodes[i].state = PAIRING_KNOWN_GOOD;
	w->noise = 0.01;
	w->problem.plan = PAIRING_BISECT;
	w->problem.rounds_max = diagnosis_rounds(lab->n);
	lab->rounds = world_play(w, &said);
	lab->collectives = w->n_groups;
	take_blames(lab, &said, places, n);
	lab->in.groups = DIAGNOSIS_GROUPS_DONE;
}

static void play(struct lab *lab, struct diagnosis_step *ret)
{
	size_t steps;

	for (steps = 0; steps < STEPS_MAX; steps++) {
		diagnosis_next(&lab->in, lab->now_us, ret);
		if (ret->phase == DIAGNOSIS_CONCLUDED)
			return;
		if (ret->phase == DIAGNOSIS_HOSTS)
			ask(lab, ret);
		else
			run_campaign(lab, ret);
		lab->now_us += 5 * USEC_PER_SEC;
		answer(lab);
	}
	CHECK(steps < STEPS_MAX); /* it ends */
}

struct tally {
	size_t runs, exact, wrong, unsure,
		named; /* `named`: of those not exact, with somebody bad */
	size_t rounds, most_rounds, collectives;
};

static void judge(const struct lab *lab, const struct diagnosis_step *step, struct tally *t)
{
	CLEANUP(freep) char *words = diagnosis_words(&lab->in, step);
	size_t i, wrong = 0;

	for (i = 0; i < lab->n; i++) {
		wrong += step->verdicts[i] == DIAGNOSIS_EXCLUDED && !lab->bad[i];
		wrong += step->verdicts[i] == DIAGNOSIS_ACQUITTED && lab->bad[i];
	}
	CHECK(lab->asked <= lab->n);
	CHECK(lab->rounds <= diagnosis_rounds(lab->n));
	CHECK_EQ(step->excluded + step->acquitted + step->unknown, lab->n);
	CHECK_EQ(step->exact, step->unknown == 0);
	if (step->exact)
		CHECK(!strstr(words, "cannot tell"));
	else
		CHECK_HAS(words, "what would tell: ");
	t->runs++;
	t->wrong += wrong > 0;
	t->exact += step->exact;
	t->unsure += !step->exact;
	t->named += !step->exact && step->excluded > 0;
	t->rounds += lab->rounds;
	t->most_rounds = MAX(t->most_rounds, lab->rounds);
	t->collectives = MAX(t->collectives, lab->collectives);
}

static struct tally play_all(enum fault fault, size_t n, size_t n_bad)
{
	struct tally t = { 0 };
	uint64_t seed;

	for (seed = 0; seed < test_times(RUNS_FULL, RUNS); seed++) {
		CLEANUP(lab_free) struct lab *lab = lab_new(n, n_bad, fault, seed);
		struct diagnosis_step step;

		play(lab, &step);
		judge(lab, &step, &t);
	}
	return t;
}

static void add_up(struct tally *sum, const struct tally *t)
{
	sum->runs += t->runs;
	sum->exact += t->exact;
	sum->wrong += t->wrong;
	sum->unsure += t->unsure;
	sum->named += t->named;
	sum->rounds += t->rounds;
	sum->collectives = MAX(sum->collectives, t->collectives);
}

static void who_is_bad_is_left_out_or_it_is_said_what_would_tell(void)
{
	size_t n_bad, i;
	int fault;

	for (fault = 0; fault < FAULTS; fault++) {
		for (n_bad = 0; n_bad <= BAD_MAX; n_bad++) {
			struct tally t = { 0 }, large = { 0 };

			for (i = 0; i < ARRAY_SIZE(sizes); i++) {
				if (2 * n_bad >= sizes[i])
					continue;
				large = play_all((enum fault)fault, sizes[i], n_bad);
				add_up(&t, &large);
			}
			printf("  %zu bad, %s: of %zu exact %zu, cannot tell %zu (%zu with "
			       "somebody "
			       "to leave out), wrong %zu, %.1f rounds; of 64 hosts exact %zu of "
			       "%zu, in at most %zu rounds, %zu collectives\n",
			       n_bad, fault_names[fault], t.runs, t.exact, t.unsure, t.named,
			       t.wrong, (double)t.rounds / (double)t.runs, large.exact, large.runs,
			       large.most_rounds, large.collectives);
			CHECK_EQ(t.wrong, 0);
		}
	}
}

/* Three hosts of no rack. */
static struct diagnosis_input three(struct diagnosis_host *hosts)
{
	static const char *const names[] = { "gpu-1", "gpu-2", "gpu-3" };
	size_t i;

	for (i = 0; i < 3; i++)
		hosts[i] = (struct diagnosis_host){ .name = names[i], .idle = true };
	return (struct diagnosis_input){ .hosts = hosts, .n = 3, .per_domain = 1, .at_once = 2 };
}

static void a_busy_host_waits_until_its_time_is_over(void)
{
	struct diagnosis_host hosts[3];
	struct diagnosis_input in = three(hosts);
	struct diagnosis_step step;

	hosts[0].idle = false;
	diagnosis_next(&in, USEC_PER_DAY, &step);
	CHECK(step.phase == DIAGNOSIS_HOSTS && !step.ask[0] && step.ask[1] && step.ask[2]);
	hosts[1].test = hosts[2].test = DIAGNOSIS_PASSED;
	diagnosis_next(&in, USEC_PER_DAY, &step);
	CHECK(step.phase == DIAGNOSIS_HOSTS && !step.ask[0]);
	in.over = true;
	diagnosis_next(&in, USEC_PER_DAY, &step);
	CHECK(step.phase == DIAGNOSIS_GROUPS && !step.ask[0] && step.ask[1]);
}

static void tests_of_others_count_and_its_own_once(void)
{
	const struct job_judge_load loads[] = { { "gpu-9", NULL, USEC_PER_DAY, true },
						{ "gpu-1", NULL, USEC_PER_DAY, true } };
	struct diagnosis_host hosts[3];
	struct diagnosis_input in = three(hosts);
	struct diagnosis_step step;

	in.loads = loads;
	in.n_loads = 2;
	diagnosis_next(&in, USEC_PER_DAY, &step);
	CHECK(!step.ask[0] && !step.ask[1] && !step.ask[2]);
	in.at_once = 3;
	hosts[0].test = DIAGNOSIS_ASKED;
	hosts[0].under_way = true;
	diagnosis_next(&in, USEC_PER_DAY, &step);
	CHECK(step.ask[1] && !step.ask[2]);
}

static void without_a_campaign_it_is_said_what_would_tell(void)
{
	struct diagnosis_host hosts[3];
	struct diagnosis_input in = three(hosts);
	struct diagnosis_step step;
	char *words;
	size_t i;

	for (i = 0; i < 3; i++)
		hosts[i].test = DIAGNOSIS_PASSED;
	in.groups = DIAGNOSIS_GROUPS_CANNOT;
	in.unsure = "too many at once";
	diagnosis_next(&in, USEC_PER_DAY, &step);
	words = diagnosis_words(&in, &step);
	CHECK(step.phase == DIAGNOSIS_CONCLUDED && !step.exact);
	CHECK_HAS(words, "cannot tell; what would tell: what is between gpu-1, gpu-2, gpu-3 and "
			 "others (too many at once): assayctl campaign start");
	free(words);
	hosts[1].test = DIAGNOSIS_FAILED;
	diagnosis_next(&in, USEC_PER_DAY, &step);
	words = diagnosis_words(&in, &step);
	CHECK_HAS(words,
		  "exclude gpu-2; cannot tell for 2 hosts; what would tell: what is between");
	free(words);
}

static void rounds_are_those_of_a_campaign(void)
{
	size_t n;

	for (n = 2; n <= DIAGNOSIS_GROUP_MAX; n++)
		CHECK_EQ(diagnosis_rounds(n), pairing_rounds_max(n));
}

static const struct test tests[] = {
	TEST(a_busy_host_waits_until_its_time_is_over),
	TEST(tests_of_others_count_and_its_own_once),
	TEST(without_a_campaign_it_is_said_what_would_tell),
	TEST(rounds_are_those_of_a_campaign),
	TEST(who_is_bad_is_left_out_or_it_is_said_what_would_tell),
};

TEST_SUITE(tests);
