/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fleet on a simulated clock: hosts report, the controller's real ingest judges, the
 * policy decides, and its decisions are applied to the simulated hosts. Pure except for
 * reading the policy: the same options give the same result.
 *
 * Cadence: every host makes a passive run each 5 minutes, and a quick one when 4 hours have
 * passed since the last and no job runs on it. It is checked each half hour and is idle a third of
 * the time, so that is about five times a day. Retests are ordered by the policy; their hold lets
 * the job end, and the host becomes free with probability 1/3 every 10 minutes. A cordoned host is
 * repaired after a day, which its operator reports.
 *
 * The clock advances by minutes. With jobs it also stops in between, at multiples of 5 seconds,
 * where a test ends or a delay of the policy expires; otherwise a test of seconds would take minutes.
 *
 * Passive runs of a healthy host have no effect in the judge, by the judge's own rule. After the
 * first, the next are only counted, unless --every-passive judges them all.
 */
#pragma once

#include <stdint.h>

#include "controller/fleet/baseline.h"
#include "controller/fleet/hosts.h"
#include "controller/fleet/rules.h"
#include "lib/base/duration.h"
#include "lib/base/map.h"
#include "lib/policy/decide.h"
#include "tests/sim/fault.h"
#include "tests/sim/grade.h"
#include "tests/sim/host.h"
#include "tests/sim/job.h"

struct err;
struct store;

enum { SIM_NODES_MAX = 20000 };
enum { SIM_DAYS_MAX = 365 };

struct sim_options {
	uint64_t nodes, days_us, seed;
	const char *policy; /* NULL: the default */
	bool every_passive;
	bool every_window; /* analyse all windows of jobs, even if they clearly blame no host */
	bool trace;	   /* print each decision to stderr */
};

/* The schedule and state of one host. */
struct agent {
	uint64_t passive_us, quick_us; /* next runs */
	uint64_t offset_us;	       /* of its passive runs within the 5 minutes */
	uint64_t test_us;	       /* time of the ordered test; 0: none */
	char *check, *subject;	       /* the finding to reproduce; NULL: all */
	const char *profile;	       /* of this rung; NULL: full. Static */
	uint64_t repaired_us;	       /* end of the repair; 0: none */
	bool quiet;		       /* its passive runs have no effect */
	bool judged_bad; /* the run just judged had the finding that the test looks for */
	int traced;	 /* the last decision printed */
	struct fleet_node *node;
};

struct sim {
	const struct sim_options *options;
	struct faults *faults;
	struct sim_host *hosts;
	struct agent *agents;
	struct rules rules;
	struct baselines baselines;
	struct map speeds;  /* of struct host_speed: cached results of tests */
	uint64_t speeds_us; /* when to refresh them */
	struct hosts known;
	struct store *store;
	struct fleet fleet;
	struct breaker breaker;
	struct outcome outcome;
	struct random chance;
	struct grade grade;
	struct sim_jobs jobs;
	uint64_t now_us;
	bool changed;  /* a decision may be due */
	bool answered; /* a test ended */
	bool sku_is_wrong;
};

/* Runs the simulation. Returns -EINVAL with the location if the policy is invalid. */
int sim_run(struct sim *s, struct err *err);
void sim_release(struct sim *s);

/* --- its steps --- */

/* Assigns the faults to their hosts. */
void sim_ail(struct sim *s);

/* Makes the host run now and passes the report through the controller. */
int sim_report(struct sim *s, size_t number, const char *profile, struct err *err);

/* Decides about the fleet and applies the decisions. */
int sim_decide(struct sim *s, struct err *err);

/* An ordered test has ended. */
void sim_tested(struct sim *s, size_t number);
