/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/policy_jobs.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/policy/policy.h"
#include "tests/unit/test.h"

/* The policy whose member `jobs` is this YAML. */
static int decode(const char *yaml, struct policy *ret, struct err *err)
{
	CLEANUP(freep) char *text = xasprintf("{v: 1, mode: enforce, jobs: %s}", yaml);
	CLEANUP(json_freep) json_t *doc = NULL;
	struct jval root;
	int r = yaml_parse(text, strlen(text), "p.yaml", &doc, err);

	if (r < 0)
		return r;
	root = jval_root(doc, "p.yaml");
	return policy_decode(&root, ret, err);
}

static void check_same(const struct policy_jobs *a, const struct policy_jobs *b)
{
	const uint64_t got[] = { a->windows_k,
				 a->windows_n,
				 a->steps,
				 a->apart_us,
				 a->fresh_us,
				 a->ladder_hosts,
				 a->investigations,
				 a->investigations_per_us,
				 a->at_once,
				 a->retest_spacing_us,
				 a->born_per_us,
				 a->busy_limit_us,
				 a->per_domain,
				 a->restart_cost_us,
				 a->over_evict_hosts,
				 a->acquit_us,
				 a->acquit_jobs,
				 a->acquit_per_us,
				 a->trust_of,
				 (uint64_t)a->mode,
				 (uint64_t)a->busy,
				 (uint64_t)a->on_stop };
	const uint64_t want[] = { b->windows_k,
				  b->windows_n,
				  b->steps,
				  b->apart_us,
				  b->fresh_us,
				  b->ladder_hosts,
				  b->investigations,
				  b->investigations_per_us,
				  b->at_once,
				  b->retest_spacing_us,
				  b->born_per_us,
				  b->busy_limit_us,
				  b->per_domain,
				  b->restart_cost_us,
				  b->over_evict_hosts,
				  b->acquit_us,
				  b->acquit_jobs,
				  b->acquit_per_us,
				  b->trust_of,
				  (uint64_t)b->mode,
				  (uint64_t)b->busy,
				  (uint64_t)b->on_stop };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(got); i++)
		CHECK_EQ(got[i], want[i]);
	CHECK_NEAR(a->min_gain, b->min_gain, 0);
	CHECK_NEAR(a->share, b->share, 0);
	CHECK_NEAR(a->born_percent, b->born_percent, 0);
	CHECK_NEAR(a->born_below, b->born_below, 0);
	CHECK_NEAR(a->trust_least, b->trust_least, 0);
}

static void the_shipped_policy_says_what_holds_without_it(void)
{
	CLEANUP(freep) char *path = test_source("policies/default.yaml");
	const struct policy_jobs usual = policy_jobs_init();
	struct policy p = policy_init();
	CLEANUP(json_freep) json_t *doc = NULL;
	struct err err = ERR_INIT;
	struct jval root;

	CHECK_EQ(yaml_read_file(path, &doc, &err), 0);
	/* Each key is there: what is left out would hold, too, and prove nothing. */
	CHECK_EQ(json_object_size(json_object_get(doc, "jobs")), 15);
	root = jval_root(doc, path);
	CHECK_EQ(policy_decode(&root, &p, &err), 0);
	CHECK_STR(err.msg, "");
	check_same(&p.jobs, &usual);
	policy_release(&p);
	check_same(&p.jobs, &usual);
	CHECK_EQ(decode("{}", &p, &err), 0);
	check_same(&p.jobs, &usual);
	policy_release(&p);
}

static void each_key_can_be_said(void)
{
	const char *yaml =
		"{mode: dry-run, min_gain: 0.05, share: 0.6, "
		"windows: {k: 3, n: 5, steps: 20, apart: 10m, fresh: 1h}, "
		"ladder: {hosts: 5, investigations: {n: 4, per: 12h}, at_once: 65}, "
		"retest_spacing: 6m, born: {percent: 0.6, below: 0.9, per: 20d}, busy: drain, "
		"busy_limit: 25h, on_stop: diagnose, per_domain: 3, restart_cost: 11m, "
		"over_evict: {hosts: 8}, acquit: {for: 20h, jobs: 3, per: 6d}, "
		"trust: {least: 0.7, of: 12}}";
	const struct policy_jobs want = {
		.mode = MODE_DRY_RUN,
		.min_gain = 0.05,
		.share = 0.6,
		.windows_k = 3,
		.windows_n = 5,
		.steps = 20,
		.apart_us = 10 * USEC_PER_MIN,
		.fresh_us = USEC_PER_HOUR,
		.ladder_hosts = 5,
		.investigations = 4,
		.investigations_per_us = 12 * USEC_PER_HOUR,
		.at_once = 65,
		.retest_spacing_us = 6 * USEC_PER_MIN,
		.born_percent = 0.6,
		.born_below = 0.9,
		.born_per_us = 20 * USEC_PER_DAY,
		.busy = BUSY_DRAIN,
		.busy_limit_us = 25 * USEC_PER_HOUR,
		.on_stop = STOP_DIAGNOSE,
		.per_domain = 3,
		.restart_cost_us = 11 * USEC_PER_MIN,
		.over_evict_hosts = 8,
		.acquit_us = 20 * USEC_PER_HOUR,
		.acquit_jobs = 3,
		.acquit_per_us = 6 * USEC_PER_DAY,
		.trust_least = 0.7,
		.trust_of = 12,
	};
	struct policy p = policy_init();
	struct err err = ERR_INIT;

	CHECK_EQ(decode(yaml, &p, &err), 0);
	CHECK_STR(err.msg, "");
	check_same(&p.jobs, &want);
	policy_release(&p);
}

static void what_is_wrong_is_named_with_its_place(void)
{
	static const struct {
		const char *yaml, *message;
	} rows[] = {
		{ "3", "p.yaml: jobs: expected an object, not a number" },
		{ "{mood: x}", "p.yaml: jobs.mood: unknown key" },
		{ "{mode: on}", "jobs.mode: 'on' is not one of observe, dry-run, enforce" },
		{ "{min_gain: 0}", "jobs.min_gain: 0 is outside 0.001 to 1" },
		{ "{share: 1.1}", "jobs.share: 1.1 is outside 0.1 to 1" },
		{ "{share: half}", "jobs.share: " },
		{ "{windows: {k: 4}}",
		  "p.yaml: jobs.windows: k 4 is larger than n 3: it can never be reached" },
		{ "{windows: {k: 0}}", "jobs.windows.k: 0 is outside 1 to 16" },
		{ "{windows: {n: 17}}", "jobs.windows.n: 17 is outside 1 to 16" },
		{ "{windows: {steps: 7}}", "jobs.windows.steps: 7 is outside" },
		{ "{windows: {apart: 0s}}", "jobs.windows.apart: must be longer than 0" },
		{ "{windows: {apart: soon}}", "jobs.windows.apart: 'soon' is not a duration" },
		{ "{windows: {apart: 61m}}",
		  "p.yaml: jobs.windows: n 3 windows that far apart span" },
		{ "{windows: {fresh: 0s}}", "jobs.windows.fresh: must be longer than 0" },
		{ "{windows: {m: 3}}", "jobs.windows.m: unknown key" },
		{ "{ladder: {hosts: 0}}", "jobs.ladder.hosts: 0 is outside 1 to 4096" },
		{ "{ladder: {investigations: {n: -1}}}", "jobs.ladder.investigations.n: -1 is" },
		{ "{ladder: {investigations: {per: 0s}}}",
		  "jobs.ladder.investigations.per: must be longer than 0" },
		{ "{ladder: {at_once: many}}", "jobs.ladder.at_once: " },
		{ "{retest_spacing: 5}", "jobs.retest_spacing: expected a duration such as 45s" },
		{ "{born: {percent: 101}}", "jobs.born.percent: 101 is outside 0 to 100" },
		{ "{born: {below: 0}}", "jobs.born.below: 0 is outside 0.01 to 1" },
		{ "{born: {per: 0s}}", "jobs.born.per: must be longer than 0" },
		{ "{busy: kill}", "jobs.busy: 'kill' is not one of wait, drain, never" },
		{ "{busy_limit: 0s}", "jobs.busy_limit: must be longer than 0" },
		{ "{on_stop: restart}", "jobs.on_stop: 'restart' is not one of tell, diagnose" },
		{ "{per_domain: 0}", "jobs.per_domain: 0 is outside" },
		{ "{restart_cost: x}", "jobs.restart_cost: 'x' is not a duration" },
		{ "{over_evict: {hosts: 5000}}",
		  "jobs.over_evict.hosts: 5000 is outside 0 to 4096" },
		{ "{acquit: {jobs: 0}}", "jobs.acquit.jobs: 0 is outside" },
		{ "{acquit: {per: 0s}}", "jobs.acquit.per: must be longer than 0" },
		{ "{trust: {least: 2}}", "jobs.trust.least: 2 is outside 0 to 1" },
		{ "{trust: {of: 0}}", "jobs.trust.of: 0 is outside 1 to 1000" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct policy p = policy_init();
		struct err err = ERR_INIT;

		CHECK_EQ(decode(rows[i].yaml, &p, &err), -22);
		CHECK_HAS(err.msg, rows[i].message);
		policy_release(&p);
	}
}

static void the_more_cautious_mode_holds(void)
{
	struct policy_jobs jobs = policy_jobs_init();
	int mode;

	for (jobs.mode = MODE_OBSERVE; jobs.mode <= MODE_ENFORCE; jobs.mode++) {
		for (mode = MODE_OBSERVE; mode <= MODE_ENFORCE; mode++) {
			CHECK(policy_jobs_mode(&jobs, mode) <= jobs.mode);
			CHECK(policy_jobs_mode(&jobs, mode) <= mode);
		}
	}
	jobs.mode = MODE_ENFORCE;
	CHECK_EQ(policy_jobs_mode(&jobs, MODE_DRY_RUN), MODE_DRY_RUN);
	CHECK_EQ(policy_jobs_mode(&jobs, MODE_ENFORCE), MODE_ENFORCE);
}

static const struct test tests[] = {
	TEST(the_shipped_policy_says_what_holds_without_it),
	TEST(each_key_can_be_said),
	TEST(what_is_wrong_is_named_with_its_place),
	TEST(the_more_cautious_mode_holds),
};

TEST_SUITE(tests);
