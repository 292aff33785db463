/* SPDX-License-Identifier: Apache-2.0 */
/* How well the judges did, against what the simulator knows. */
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

/* Classes that are counted apart. */
enum grade_class {
	GRADE_GPU_ONSET,
	GRADE_HOST_ONSET,
	GRADE_HOST_BORN,
	GRADE_GPU_BORN,	  /* to be warned of, not cordoned */
	GRADE_GPU_BLAMED, /* born so, and jobs suffer from it */
	GRADE_PCIE,
	GRADE_FLAPPING,
	GRADE_DYING,
	GRADE_TOR, /* of the domain, not of the host */
	GRADE_CHANNEL,
	GRADE_CHANNEL_BORN,
	GRADE_FLAP_STORM,
	GRADE_XID_STORM, /* to be told of */
	GRADE_TOO_FAST,	 /* likewise */
	N_GRADES,
};

/*
 * `found`: a cordon was decided; `tested`: a test was ordered since the onset; `cordoned`: it was
 * carried out; `warned`: K of N were bad in what the fault makes low; `incidents` were opened on
 * its hosts.
 */
struct grade_row {
	uint64_t hosts, found, in_time, warned, tested, cordoned, incidents;
};

/* What was made of a fault of one host. */
struct grade_fault {
	uint64_t found_us; /* 0: not yet */
	bool warned, tested, cordoned;
	uint64_t incidents;
};

/* What was said of hosts that are well. */
struct grade_clean {
	uint64_t hosts;
	uint64_t incidents;
	uint64_t of_tail; /* more, of a good GPU that nobody could tell from one born slow */
	uint64_t runs, warn, fail; /* active ones */
	/* ... of hosts without a GPU below the percentile */
	uint64_t plain_runs, plain_warn, plain_fail;
	/* ... that were low indeed, once: in neither of the others */
	uint64_t once_runs, once_warn, once_fail;
};

/* GPUs that were born slow. */
struct grade_born {
	uint64_t gpus, warned, identifiable, identifiable_warned, apart, apart_warned;
};

/* Hosts that an incident named: each once. */
enum grade_named { NAMED_RIGHTLY = 1, NAMED_FOR_SHARED = 2, NAMED_WRONGLY = 4 };
enum { BREAKER_CAUSES = BREAKER_HAND + 1 };

struct grade {
	struct grade_row rows[N_GRADES];
	struct grade_fault *faults; /* of each (host, ailment) */
	unsigned char *warned;
	unsigned char *named; /* bits of enum grade_named, of each host */
	struct truth truth;
	struct causes causes;
	struct grade_clean clean;
	struct grade_born born;
	uint64_t named_hosts[NAMED_WRONGLY + 1]; /* by enum grade_named */
	uint64_t breaker_causes[BREAKER_CAUSES];
	uint64_t wrong_sku_us, wrong_sku_told_us; /* 0: not */
	double *delays_s;			  /* of those with an onset that were found */
	size_t n_delays;
	uint64_t false_cordons, true_cordons, domain_cordons, cordons;
	uint64_t refused[REFUSED_BY_COUNT]; /* by enum refused_by, each host once */
	uint64_t *refused_hosts;	    /* bits, of each host */
	uint64_t alarms, sku_incidents;	    /* those of a SKU and a check are among the alarms */
	uint64_t domain_incidents, host_incidents, breaker_opened, releases, tests;
	uint64_t budget_max_used, budget_cap, domain_max_used, domain_cap, overruns;
	uint64_t reports;
};

void grade_begin(struct grade *g, size_t nodes);

/* The faults are on their hosts. */
void grade_ailing(struct sim *s);
void grade_release(struct grade *g);

/* The class of an ailment, or -1. */
int grade_class(const struct fault *fault, uint64_t onset_us);

/* The policy wants this host out of service, granted or refused. */
void grade_cordon(struct sim *s, size_t number, const struct decision *d);

/* The host is told of: a finding that has reached its K of N. */
void grade_warn(struct sim *s, size_t number, const struct store_window *row);

/* An incident of a host was opened or closed. */
void grade_incident(struct sim *s, size_t number, const char *check, bool open);

/* An active run was judged, by itself. */
void grade_run(struct sim *s, size_t number, const struct verdict *verdict);

/* A test of the host was ordered. */
void grade_tested(struct sim *s, size_t number);

/* The breaker has opened. */
void grade_breaker(struct sim *s);

/* Something was told of more than one host. */
void grade_told(struct sim *s, const char *key, const char *sentence);

/* How full the budgets are after what was done. */
void grade_budget(struct sim *s);

/* After the last day: count. */
void grade_end(struct sim *s);

/* The contract's object, and more. New reference. */
json_t *grade_encode(const struct sim *s);

/* For people. */
void grade_print(const struct sim *s, FILE *out);
