/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl policy check FILE: validates a policy and summarises it. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/command.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/policy/judge_files.h"
#include "lib/policy/policy.h"

static void summarise_jobs(const struct policy_jobs *jobs, int mode)
{
	char apart[CLOCK_DURATION_SIZE];

	duration_format(jobs->apart_us, apart);
	(void)printf("  jobs     %s; a host is suspect when %" PRIu64 " of %" PRIu64
		     " windows %s apart"
		     " blame it for %g %% of a step\n",
		     policy_mode_names[policy_jobs_mode(jobs, mode)], jobs->windows_k,
		     jobs->windows_n, apart, jobs->min_gain * 100);
}

/* The policy in words: a valid policy can still be surprising. */
static void summarise(const char *file, const struct policy *p)
{
	char rate[CLOCK_DURATION_SIZE], manual[CLOCK_DURATION_SIZE], delay[CLOCK_DURATION_SIZE];

	duration_format(p->rate_per_us, rate);
	duration_format(p->manual_per_us, manual);
	duration_format(p->release_delay_us, delay);
	(void)printf("%s: good\n", file);
	(void)printf("  mode     %s\n", policy_mode_names[p->mode]);
	(void)printf("  budget   %g %% of all nodes", p->total_percent);
	if (p->total_nodes)
		(void)printf(", at most %" PRIu64, p->total_nodes);
	if (p->domain_label)
		(void)printf("; %" PRIu64 " per %s", p->domain_max, p->domain_label);
	(void)printf("; %" PRIu64 " per job; %" PRIu64 " automatic cordons in %s, %" PRIu64
		     " by hand in %s\n",
		     p->per_job, p->rate_cordons, rate, p->manual_cordons, manual);
	(void)printf("  breaker  when %g %% of the nodes are silent\n", p->breaker_silent_percent);
	(void)printf("  release  after %s and %" PRIu64 " pass%s\n", delay, p->release_passes,
		     p->release_passes == 1 ? "" : "es");
	summarise_jobs(&p->jobs, p->mode);
	(void)printf("  rules    %zu\n", p->n_rules);
}

static void list_rules(const struct policy *p)
{
	size_t i;

	for (i = 0; i < p->n_rules; i++) {
		const struct policy_rule *r = &p->rules[i];

		(void)printf("    %-20s %s -> %s", r->name, r->check ? r->check : "any check",
			     policy_action_names[r->action]);
		if (r->severity)
			(void)printf(", when %s", r->severity);
		if (r->n > 1)
			(void)printf(", when bad in %" PRIu64 " of the last %" PRIu64, r->k, r->n);
		(void)printf("\n");
	}
}

int check_policy(const struct request *request)
{
	struct policy policy = policy_init();
	struct err err = ERR_INIT;

	if (policy_file_read(request->argument, &policy, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.msg);
		return STATUS_USAGE;
	}
	policy_release(&policy);
	return STATUS_GOOD;
}

int run_policy_check(const struct request *request)
{
	struct policy policy = policy_init();
	struct err err = ERR_INIT;

	if (policy_file_read(request->argument, &policy, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.msg);
		return STATUS_USAGE;
	}
	summarise(request->argument, &policy);
	list_rules(&policy);
	policy_release(&policy);
	return STATUS_GOOD;
}
