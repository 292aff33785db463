/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/policy_jobs.h"

#include "lib/base/err.h"
#include "lib/json/jsome.h"

const char *const policy_jobs_busy_names[] = {
	[BUSY_WAIT] = "wait",
	[BUSY_DRAIN] = "drain",
	[BUSY_NEVER] = "never",
	NULL,
};
const char *const policy_jobs_stop_names[] = {
	[STOP_TELL] = "tell",
	[STOP_DIAGNOSE] = "diagnose",
	NULL,
};

#define JOBS(m) offsetof(struct policy_jobs, m)

/* One nested object: its fields are members of struct policy_jobs. */
#define NESTED(name, table)                                                                \
	static int name(const struct jval *v, void *member, struct err *err)               \
	{                                                                                  \
		return jval_decode(v, table, ARRAY_SIZE(table), JVAL_STRICT, member, err); \
	}                                                                                  \
	struct name##_needs_semicolon

enum { COUNT_MAX = 1000000, STEPS_MIN = 8, STEPS_MAX = 100000, TRUST_MAX = 1000 };

static const struct jfield window_fields[] = {
	{ "k", J_U64, JOBS(windows_k), 0, .min = 1, .max = POLICY_JOBS_WINDOWS_MAX },
	{ "n", J_U64, JOBS(windows_n), 0, .min = 1, .max = POLICY_JOBS_WINDOWS_MAX },
	/* Intervals are computed from blocks of 4 steps: fewer than two blocks have none. */
	{ "steps", J_U64, JOBS(steps), 0, .min = STEPS_MIN, .max = STEPS_MAX },
	{ "apart", J_CUSTOM, JOBS(apart_us), 0, .decode = jsome_time },
	{ "fresh", J_CUSTOM, JOBS(fresh_us), 0, .decode = jsome_time },
};
static const struct jfield investigation_fields[] = {
	{ "n", J_U64, JOBS(investigations), 0, .min = 0, .max = COUNT_MAX },
	{ "per", J_CUSTOM, JOBS(investigations_per_us), 0, .decode = jsome_time },
};
NESTED(decode_investigations, investigation_fields);
static const struct jfield ladder_fields[] = {
	{ "hosts", J_U64, JOBS(ladder_hosts), 0, .min = 1, .max = POLICY_JOBS_HOSTS_MAX },
	{ "investigations", J_CUSTOM, 0, 0, .decode = decode_investigations },
	{ "at_once", J_U64, JOBS(at_once), 0, .min = 0, .max = COUNT_MAX },
};
static const struct jfield born_fields[] = {
	{ "percent", J_REAL, JOBS(born_percent), 0, .min = 0, .max = 100 },
	{ "below", J_REAL, JOBS(born_below), 0, .min = 0.01, .max = 1 },
	{ "per", J_CUSTOM, JOBS(born_per_us), 0, .decode = jsome_time },
};
static const struct jfield over_evict_fields[] = {
	{ "hosts", J_U64, JOBS(over_evict_hosts), 0, .min = 0, .max = POLICY_JOBS_HOSTS_MAX },
};
static const struct jfield acquit_fields[] = {
	{ "for", J_DURATION, JOBS(acquit_us), 0 },
	{ "jobs", J_U64, JOBS(acquit_jobs), 0, .min = 1, .max = COUNT_MAX },
	{ "per", J_CUSTOM, JOBS(acquit_per_us), 0, .decode = jsome_time },
};
static const struct jfield trust_fields[] = {
	{ "least", J_REAL, JOBS(trust_least), 0, .min = 0, .max = 1 },
	{ "of", J_U64, JOBS(trust_of), 0, .min = 1, .max = TRUST_MAX },
};
NESTED(decode_ladder, ladder_fields);
NESTED(decode_born, born_fields);
NESTED(decode_over_evict, over_evict_fields);
NESTED(decode_acquit, acquit_fields);
NESTED(decode_trust, trust_fields);

static int decode_windows(const struct jval *v, void *member, struct err *err)
{
	const struct policy_jobs *jobs = member;
	int r = jval_decode(v, window_fields, ARRAY_SIZE(window_fields), JVAL_STRICT, member, err);
	char span[CLOCK_DURATION_SIZE];

	if (r < 0)
		return r;
	if (jobs->windows_k > jobs->windows_n)
		return jval_fail(v, err, "k %llu is larger than n %llu: it can never be reached",
				 (unsigned long long)jobs->windows_k,
				 (unsigned long long)jobs->windows_n);
	if (jobs->windows_n > 1 && jobs->apart_us > POLICY_JOBS_SPAN_US / (jobs->windows_n - 1)) {
		duration_format(POLICY_JOBS_SPAN_US, span);
		return jval_fail(v, err,
				 "n %llu windows that far apart span more than the %s that are "
				 "remembered: lower n or apart",
				 (unsigned long long)jobs->windows_n, span);
	}
	return 0;
}

static const struct jfield jobs_fields[] = {
	{ "mode", J_ENUM, JOBS(mode), 0, .names = policy_mode_names },
	{ "min_gain", J_REAL, JOBS(min_gain), 0, .min = 0.001, .max = 1 },
	{ "share", J_REAL, JOBS(share), 0, .min = 0.1, .max = 1 },
	{ "windows", J_CUSTOM, 0, 0, .decode = decode_windows },
	{ "ladder", J_CUSTOM, 0, 0, .decode = decode_ladder },
	{ "retest_spacing", J_DURATION, JOBS(retest_spacing_us), 0 },
	{ "born", J_CUSTOM, 0, 0, .decode = decode_born },
	{ "busy", J_ENUM, JOBS(busy), 0, .names = policy_jobs_busy_names },
	{ "busy_limit", J_CUSTOM, JOBS(busy_limit_us), 0, .decode = jsome_time },
	{ "on_stop", J_ENUM, JOBS(on_stop), 0, .names = policy_jobs_stop_names },
	{ "per_domain", J_U64, JOBS(per_domain), 0, .min = 1, .max = COUNT_MAX },
	{ "restart_cost", J_DURATION, JOBS(restart_cost_us), 0 },
	{ "over_evict", J_CUSTOM, 0, 0, .decode = decode_over_evict },
	{ "acquit", J_CUSTOM, 0, 0, .decode = decode_acquit },
	{ "trust", J_CUSTOM, 0, 0, .decode = decode_trust },
};

struct policy_jobs policy_jobs_init(void)
{
	return (struct policy_jobs){
		.mode = MODE_OBSERVE,
		.min_gain = 0.03,
		.share = 0.5,
		.windows_k = 2,
		.windows_n = 3,
		.steps = 10,
		.apart_us = 5 * USEC_PER_MIN,
		.fresh_us = 30 * USEC_PER_MIN,
		.ladder_hosts = 4,
		.investigations = 3,
		.investigations_per_us = USEC_PER_DAY,
		.at_once = 64,
		.retest_spacing_us = 5 * USEC_PER_MIN,
		.born_percent = 0.5,
		.born_below = 0.92,
		.born_per_us = 30 * USEC_PER_DAY,
		.busy = BUSY_WAIT,
		.busy_limit_us = USEC_PER_DAY,
		.on_stop = STOP_TELL,
		.per_domain = 2,
		.restart_cost_us = 10 * USEC_PER_MIN,
		.over_evict_hosts = 0,
		.acquit_us = USEC_PER_DAY,
		.acquit_jobs = 2,
		.acquit_per_us = 7 * USEC_PER_DAY,
		.trust_least = 0.5,
		.trust_of = 10,
	};
}

int policy_jobs_decode(const struct jval *v, void *member, struct err *err)
{
	return jval_decode(v, jobs_fields, ARRAY_SIZE(jobs_fields), JVAL_STRICT, member, err);
}

int policy_jobs_mode(const struct policy_jobs *jobs, int mode)
{
	return MIN(jobs->mode, mode);
}
