/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl policy check FILE: is this a policy, and what does it say? */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "lib/duration.h"
#include "lib/err.h"
#include "lib/judge/policy.h"
#include "lib/judge_files.h"

enum { STATUS_GOOD = 0, STATUS_BAD = 2 };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const char **file = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (*file)
			argp_error(state, "'%.80s': one FILE at a time", arg);
		*file = arg;
		return 0;
	case ARGP_KEY_END:
		if (!*file)
			argp_error(state, "which FILE?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* What it comes to, in words: a policy that reads well can still surprise. */
static void summarise(const char *file, const struct policy *p)
{
	char rate[CLOCK_DURATION_SIZE], delay[CLOCK_DURATION_SIZE];

	duration_format(p->rate_per_us, rate);
	duration_format(p->release_delay_us, delay);
	(void)printf("%s: good\n", file);
	(void)printf("  mode     %s\n", policy_mode_names[p->mode]);
	(void)printf("  budget   %g %% of all nodes", p->total_percent);
	if (p->total_nodes)
		(void)printf(", at most %" PRIu64, p->total_nodes);
	if (p->domain_label)
		(void)printf("; %" PRIu64 " per %s", p->domain_max, p->domain_label);
	(void)printf("; %" PRIu64 " per job; %" PRIu64 " cordons in %s\n", p->per_job,
		     p->rate_cordons, rate);
	(void)printf("  breaker  when %g %% of the nodes are silent\n", p->breaker_silent_percent);
	(void)printf("  release  after %s and %" PRIu64 " passes\n", delay, p->release_passes);
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

int ctl_policy_check(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse,
		.args_doc = "FILE",
		.doc = "Check a policy file and say what it comes to.\v"
		       "Exit status: 0 good, 2 not good (one line that names the place).",
	};
	const char *file = NULL;
	struct policy policy = policy_init();
	struct err err = ERR_INIT;
	int r;

	if (argp_parse(&argp, argc, argv, 0, NULL, &file) != 0)
		return STATUS_BAD;
	r = policy_file_read(file, &policy, &err);
	if (r < 0) {
		(void)fprintf(stderr, "%s\n", err.msg);
		return STATUS_BAD;
	}
	summarise(file, &policy);
	list_rules(&policy);
	policy_release(&policy);
	return STATUS_GOOD;
}
