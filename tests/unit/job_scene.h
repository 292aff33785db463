/* SPDX-License-Identifier: Apache-2.0 */
/* A job of three hosts, one of them blamed by its windows, to test lib/policy/job_judge.h. */
#pragma once

#include <string.h>

#include "lib/policy/job_judge.h"
#include "tests/unit/test.h"

#define NOW (1000 * USEC_PER_DAY)
#define SUSPECTED (NOW - 30 * USEC_PER_MIN)
#define WINDOW (NOW - 20 * USEC_PER_MIN)

/* Two failed tests, after the suspicion and as far apart as required. */
static const uint64_t twice_us[] = { NOW - 10 * USEC_PER_MIN, NOW - 5 * USEC_PER_MIN };
static const struct job_judge_failure slow_gemm = { .check = "gemm.rate",
						    .failed_us = twice_us,
						    .n_failed = 2,
						    .ordered_us = SUSPECTED,
						    .same_boot = true,
						    .idle = true,
						    .reference = true };

static const char *const gpu_17[] = { "gpu-17" };

/* gpu-17 is suspected in 2 of 2 windows, in a job of gpu-16, gpu-17 and gpu-18. */
struct scene {
	struct policy policy;
	struct suspicion_list suspects;
	struct job_judge_host hosts[3];
	struct job_judge_failure failure;
	struct job_judge_input in;
	struct job_judge_result out;
};

static void scene_init(struct scene *s)
{
	static const char *const names[] = { "gpu-16", "gpu-17", "gpu-18" };
	size_t i;

	memset(s, 0, sizeof(*s));
	s->policy = policy_init();
	s->policy.mode = s->policy.jobs.mode = MODE_ENFORCE;
	for (i = 0; i < ARRAY_SIZE(s->hosts); i++)
		s->hosts[i] = (struct job_judge_host){
			.name = names[i], .placed = true, .idle = true, .suspected_us = SUSPECTED
		};
	s->failure = slow_gemm;
	s->suspects.n = 1;
	s->suspects.of = 2;
	s->suspects.items[0] = (struct suspicion_found){ .hosts = gpu_17,
							 .n_hosts = 1,
							 .class = BLAME_COMPUTE,
							 .counts = BLAME_K_OF_N,
							 .hits = 2,
							 .of = 2,
							 .identifiable = true,
							 .share = 0.94,
							 .from_us = WINDOW,
							 .until_us = NOW - USEC_PER_MIN };
	s->in = (struct job_judge_input){ .job = "research/llm-7",
					  .class = BLAME_COMPUTE,
					  .slowdown = 1.09,
					  .suspects = &s->suspects,
					  .hosts = s->hosts,
					  .n_hosts = ARRAY_SIZE(s->hosts) };
}

/* Judges the scene again, after a change. */
static const struct job_judge_item *judge(struct scene *s)
{
	static const struct job_judge_item none;

	job_judge_release(&s->out);
	job_judge(&s->policy, &s->in, NOW, &s->out);
	return s->out.n > 0 ? &s->out.items[0] : &none;
}

static void scene_release(struct scene *s)
{
	job_judge_release(&s->out);
	policy_release(&s->policy);
}

/* gpu-17 gets the failure `s->failure`. */
static void fails(struct scene *s)
{
	s->hosts[1].failures = &s->failure;
	s->hosts[1].n_failures = 1;
}
