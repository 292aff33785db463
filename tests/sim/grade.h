/* SPDX-License-Identifier: Apache-2.0 */
/* Grades the judges against the simulator's ground truth. */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/macro.h"
#include "lib/policy/breaker.h"
#include "lib/policy/budget.h"
#include "tests/sim/cause.h"
#include "tests/sim/fault.h"
#include "tests/sim/truth.h"

struct sim;
struct decision;
struct finding;
struct store_window;
struct verdict;

/* Classes that are counted separately. */
enum grade_class {
	GRADE_GPU_ONSET,
	GRADE_HOST_ONSET,
	GRADE_HOST_BORN,
	GRADE_GPU_BORN,	  /* needs a warning, not a cordon */
	GRADE_GPU_BLAMED, /* slow from the start, and jobs suffer from it */
	GRADE_PCIE,
	GRADE_FLAPPING,
	GRADE_DYING,
	GRADE_TOR, /* the domain's fault, not the host's */
	GRADE_CHANNEL,
	GRADE_CHANNEL_BORN,
	GRADE_FLAP_STORM,
	GRADE_XID_STORM, /* needs a warning */
	GRADE_TOO_FAST,	 /* needs a warning */
	N_GRADES,
};

/*
 * `found`: a cordon was decided; `cordoned`: it was carried out; `tested`: a test was ordered since
 * the onset; `warned`: a check lowered by the fault reached its K of N; `incidents`: opened on its
 * hosts.
 */
struct grade_row {
	uint64_t hosts, found, in_time, warned, tested, cordoned, incidents;
};

/* How a fault of one host was handled. */
struct grade_fault {
	uint64_t found_us; /* 0: not yet */
	bool warned, tested, cordoned;
	uint64_t incidents;
};

/* Results on healthy hosts. */
struct grade_clean {
	uint64_t hosts;
	uint64_t incidents;
	uint64_t of_tail;	   /* more incidents, of good GPUs that look like ones born slow */
	uint64_t runs, warn, fail; /* active runs */
	/* ... of hosts without a GPU below the percentile */
	uint64_t plain_runs, plain_warn, plain_fail;
	/* ... that were really low once; not counted in the two above */
	uint64_t once_runs, once_warn, once_fail;
};

/* GPUs that were slow from the start ("born slow"). */
struct grade_born {
	uint64_t gpus, warned, identifiable, identifiable_warned, apart, apart_warned;
};

/* Whether hosts named in incidents were named rightly; each host counts once. */
enum grade_named { NAMED_RIGHTLY = 1, NAMED_FOR_SHARED = 2, NAMED_WRONGLY = 4 };
enum { BREAKER_CAUSES = BREAKER_HAND + 1 };

struct grade {
	struct grade_row rows[N_GRADES];
	struct grade_fault *faults; /* per (host, ailment) */
	unsigned char *warned;
	unsigned char *named; /* per host: bits of enum grade_named */
	struct truth truth;
	struct causes causes;
	struct grade_clean clean;
	struct grade_born born;
	uint64_t named_hosts[NAMED_WRONGLY + 1]; /* by enum grade_named */
	uint64_t breaker_causes[BREAKER_CAUSES];
	uint64_t wrong_sku_us, wrong_sku_told_us; /* 0: never */
	double *delays_s;			  /* onset to detection, of faults found */
	size_t n_delays;
	uint64_t false_cordons, true_cordons, domain_cordons, cordons;
	uint64_t refused[REFUSED_BY_COUNT]; /* by enum refused_by, each host once */
	uint64_t *refused_hosts;	    /* per host: bits of enum refused_by */
	uint64_t alarms, sku_incidents;	    /* alarms includes sku_incidents (SKU and check) */
	uint64_t domain_incidents, host_incidents, breaker_opened, releases, tests;
	uint64_t budget_max_used, budget_cap, domain_max_used, domain_cap, overruns;
	uint64_t reports;
};

void grade_begin(struct grade *g, size_t nodes);

/* Call when the faults have been assigned to their hosts. */
void grade_ailing(struct sim *s);
void grade_release(struct grade *g);

/* Returns the class of an ailment, or -1. */
int grade_class(const struct fault *fault, uint64_t onset_us);

/* The policy decided to cordon this host, whether granted or refused. */
void grade_cordon(struct sim *s, size_t number, const struct decision *d);

/* A finding of the host has reached its K of N. */
void grade_warn(struct sim *s, size_t number, const struct store_window *row);

/* An incident of a host was opened or closed. */
void grade_incident(struct sim *s, size_t number, const char *check, bool open);

/* An active run was judged on its own. */
void grade_run(struct sim *s, size_t number, const struct verdict *verdict);

/* A test of the host was ordered. */
void grade_tested(struct sim *s, size_t number);

/* The breaker has opened. */
void grade_breaker(struct sim *s);

/* A notice about more than one host was raised. */
void grade_told(struct sim *s, const char *key, const char *sentence);

/* Records how full the budgets are after the decisions. */
void grade_budget(struct sim *s);

/* Computes the totals after the last day. */
void grade_end(struct sim *s);

/* Returns the contract's object, with additional members. A new reference. */
json_t *grade_encode(const struct sim *s);

/* Prints it for people. */
void grade_print(const struct sim *s, FILE *out);
