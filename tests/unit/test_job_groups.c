/* SPDX-License-Identifier: Apache-2.0 */
/* A job blames gpu-16, gpu-17 and gpu-18 as a whole: one worker is on all three. */
#include "lib/policy/job_judge.h"

#include <stdlib.h>

#include "tests/unit/test.h"

#define NOW (1000 * USEC_PER_DAY)
#define SUSPECTED (NOW - 30 * USEC_PER_MIN)
#define WINDOW (NOW - 20 * USEC_PER_MIN)

enum { HOSTS = 3 };

static const char *const names[HOSTS] = { "gpu-16", "gpu-17", "gpu-18" };
static const uint64_t twice_us[] = { NOW - 10 * USEC_PER_MIN, NOW - 5 * USEC_PER_MIN };

struct scene {
	struct policy policy;
	struct suspicion_list suspects;
	struct job_judge_host hosts[HOSTS];
	struct job_judge_failure failure;
	struct job_judge_input in;
	struct job_judge_result out;
};

static void scene_init(struct scene *s)
{
	size_t i;

	memset(s, 0, sizeof(*s));
	s->policy = policy_init();
	s->policy.mode = s->policy.jobs.mode = MODE_ENFORCE;
	s->policy.jobs.over_evict_hosts = HOSTS;
	s->policy.jobs.ladder_hosts = 1;
	for (i = 0; i < HOSTS; i++)
		s->hosts[i] = (struct job_judge_host){ .name = names[i],
						       .placed = true,
						       .idle = true,
						       .suspected_us = SUSPECTED,
						       .group = 17 };
	s->suspects.n = 1;
	s->suspects.of = 2;
	s->suspects.items[0] = (struct suspicion_found){ .hosts = names,
							 .n_hosts = HOSTS,
							 .class = BLAME_COMPUTE,
							 .counts = BLAME_K_OF_N,
							 .hits = 2,
							 .of = 2,
							 .identifiable = true,
							 .share = 0.94,
							 .from_us = WINDOW,
							 .until_us = NOW - USEC_PER_MIN };
	s->failure = (struct job_judge_failure){ .check = "all_reduce.busbw",
						 .failed_us = twice_us,
						 .n_failed = 2,
						 .ordered_us = SUSPECTED,
						 .same_boot = true,
						 .idle = true,
						 .reference = true,
						 .partner_good = true };
	s->in = (struct job_judge_input){ .job = "research/llm-7",
					  .class = BLAME_COMPUTE,
					  .slowdown = 1.09,
					  .suspects = &s->suspects,
					  .hosts = s->hosts,
					  .n_hosts = HOSTS };
}

static void scene_release(struct scene *s)
{
	job_judge_release(&s->out);
	policy_release(&s->policy);
}

static const struct job_judge_item *judge(struct scene *s)
{
	job_judge_release(&s->out);
	job_judge(&s->policy, &s->in, NOW, &s->out);
	CHECK_EQ(s->out.n, HOSTS);
	return s->out.items;
}

static void it_is_one_where_the_policy_lets_so_many_be_held(void)
{
	static const struct {
		uint64_t most;
		size_t n;
		int class;
		bool is;
	} rows[] = {
		{ 0, 3, BLAME_COMPUTE, false }, { 2, 3, BLAME_COMPUTE, false },
		{ 3, 3, BLAME_COMPUTE, true },	{ 3, 1, BLAME_COMPUTE, false },
		{ 3, 3, BLAME_LAUNCH, true },	{ 3, 2, BLAME_LINK, false },
		{ 3, 3, BLAME_FABRIC, false },
	};
	CLEANUP(scene_release) struct scene s;
	size_t i;

	scene_init(&s);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		s.policy.jobs.over_evict_hosts = rows[i].most;
		s.suspects.items[0].n_hosts = rows[i].n;
		s.suspects.items[0].class = rows[i].class;
		CHECK_EQ(job_judge_is_group(&s.policy, &s.suspects.items[0]), rows[i].is);
	}
}

static void hosts_that_wait_for_their_turn_are_kept_free(void)
{
	CLEANUP(scene_release) struct scene s;
	struct blame blame;
	size_t i;

	scene_init(&s);
	for (i = 0; i < HOSTS; i++)
		s.hosts[i].group = 0;
	CHECK(judge(&s)[1].action == BLAME_WATCH && s.out.items[1].queued);
	for (i = 0; i < HOSTS; i++)
		s.hosts[i].group = 17;
	judge(&s);
	for (i = 0; i < HOSTS; i++) {
		CHECK_EQ(s.out.items[i].action, BLAME_PROBE);
		CHECK(s.out.items[i].effect && s.out.items[i].kept_free == (i > 0));
		CHECK(job_judge_blame(&s.policy, "j", &s.out, &s.out.items[i], 0, &blame));
		CHECK_EQ(blame.reach, i > 0 ? BLAME_TO_HOLD : BLAME_TO_TEST);
		CHECK_EQ(blame.group, 17);
		CHECK(job_judge_keep(&s.policy, &s.out, &s.out.items[i]) > NOW);
	}
	CHECK_HAS(s.out.items[1].sentence, "jobs.ladder.hosts");
	/* While jobs run there nobody is. */
	for (i = 0; i < HOSTS; i++)
		s.hosts[i].idle = false;
	judge(&s);
	for (i = 0; i < HOSTS; i++)
		CHECK(!s.out.items[i].kept_free &&
		      !job_judge_blame(&s.policy, "j", &s.out, &s.out.items[i], 0, &blame));
}

static void one_that_awaits_the_others_takes_no_turn_of_theirs(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	s.hosts[0].ladders[BLAME_COMPUTE] = LADDER_RUNNING;
	CHECK(judge(&s)[1].kept_free && s.out.items[2].kept_free);
	s.hosts[0].awaits = true;
	CHECK(!judge(&s)[1].kept_free && s.out.items[2].kept_free);
	CHECK_EQ(s.out.items[0].action, BLAME_PROBE);
	/* It is the same investigation of the job still. */
	s.in.investigations = s.policy.jobs.investigations;
	CHECK_EQ(judge(&s)[1].action, BLAME_PROBE);
	s.hosts[0].ladders[BLAME_COMPUTE] = LADDER_NOT_RUN;
	s.hosts[0].awaits = false;
	CHECK_EQ(judge(&s)[1].action, BLAME_WATCH);
}

static void what_lies_between_its_hosts_shows_one_of_them_to_be_bad(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	s.hosts[0].failures = &s.failure;
	s.hosts[0].n_failures = 1;
	CHECK_EQ(judge(&s)[0].action, BLAME_EVICT);
	CHECK_EQ(s.out.items[0].blame.group, 17);
	CHECK(blame_fits(&s.out.items[0].blame, "all_reduce.busbw", twice_us[1], NOW));
	CHECK(job_judge_proves(&s.policy, BLAME_COMPUTE, &s.hosts[0]));
	s.failure.partner_good = false;
	CHECK(judge(&s)[0].action != BLAME_EVICT);
	s.failure.partner_good = true;
	s.failure.n_failed = 1; /* of two */
	CHECK_EQ(judge(&s)[0].action, BLAME_PROBE);
	s.failure.n_failed = 2;
	s.hosts[0].group = 0;
	CHECK_EQ(judge(&s)[0].evidence, EVIDENCE_OTHER);
	CHECK(!job_judge_proves(&s.policy, BLAME_COMPUTE, &s.hosts[0]));
}

static const struct test tests[] = {
	TEST(it_is_one_where_the_policy_lets_so_many_be_held),
	TEST(hosts_that_wait_for_their_turn_are_kept_free),
	TEST(one_that_awaits_the_others_takes_no_turn_of_theirs),
	TEST(what_lies_between_its_hosts_shows_one_of_them_to_be_bad),
};

TEST_SUITE(tests);
