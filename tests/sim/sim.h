/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fleet on a fake clock: hosts report, the controller's own ingest judges, the
 * policy decides, and what it decides is done to the simulated hosts. Pure but for
 * reading the policy: the same options give the same result.
 *
 * Cadence. Every host makes a passive run each 5 minutes, and a quick one when 4 hours
 * are over since the last and no job runs on it: it is idle a third of the
 * time, asked each half hour, so about five times a day. A retest is ordered by the policy; its
 * hold lets the job end, and the host is free at one in three of its next 10 minutes. A cordoned
 * host is repaired after a day, which its operator says.
 *
 * The clock goes by minutes. With jobs it stops in between, on the 5 seconds, where a test ends or
 * the policy has to wait no longer: a test of seconds would take minutes otherwise.
 *
 * A passive run of a host that nothing is wrong with says nothing new to the judge, by
 * the judge's own rule: after one of them the next are only heard of, unless --every-passive
 * asks to judge them all.
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
	const char *policy; /* NULL: the usual one */
	bool every_passive;
	bool every_window; /* of jobs, also those that plainly blame nobody */
	bool trace;	   /* each decision, on standard error */
};

/* What the simulator knows of the way of one host. */
struct agent {
	uint64_t passive_us, quick_us; /* next runs */
	uint64_t offset_us;	       /* of its passive runs within the 5 minutes */
	uint64_t test_us;	       /* the ordered test; 0: none */
	char *check, *subject;	       /* what it is to reproduce; NULL: all */
	const char *profile;	       /* by this rung; NULL: all of it. Static */
	uint64_t repaired_us;	       /* 0: it is not being repaired */
	bool quiet;		       /* its passive runs say nothing new */
	bool judged_bad; /* the run just judged had the finding that a test looks for */
	int traced;	 /* the decision that was shown last */
	struct fleet_node *node;
};

struct sim {
	const struct sim_options *options;
	struct faults *faults;
	struct sim_host *hosts;
	struct agent *agents;
	struct rules rules;
	struct baselines baselines;
	struct map speeds;  /* of struct host_speed: what tests say, as of a while ago */
	uint64_t speeds_us; /* when they are gathered anew */
	struct hosts known;
	struct store *store;
	struct fleet fleet;
	struct breaker breaker;
	struct outcome outcome;
	struct random chance;
	struct grade grade;
	struct sim_jobs jobs;
	uint64_t now_us;
	bool changed;  /* there may be something new to decide */
	bool answered; /* a test ended */
	bool sku_is_wrong;
};

/* Run it all. -EINVAL with the place when the policy cannot be read. */
int sim_run(struct sim *s, struct err *err);
void sim_release(struct sim *s);

/* --- the parts of it --- */

/* Put the faults on their hosts. */
void sim_ail(struct sim *s);

/* A run of the host now, on its way through the controller. */
int sim_report(struct sim *s, size_t number, const char *profile, struct err *err);

/* Decide about the fleet, and do it. */
int sim_decide(struct sim *s, struct err *err);

/* A test that was ordered is over. */
void sim_tested(struct sim *s, size_t number);
