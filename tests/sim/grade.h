/* SPDX-License-Identifier: Apache-2.0 */
/* How well the judges did, against what the simulator knows. */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/macro.h"
#include "tests/sim/fault.h"

struct sim;
struct decision;

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
	N_GRADES,
};

struct grade_row {
	uint64_t hosts, found, in_time, warned;
};

enum { GRADE_REFUSALS = 16 };

struct grade {
	struct grade_row rows[N_GRADES];
	uint64_t *found_us; /* of each (host, ailment); 0: not yet */
	unsigned char *warned;
	double *delays_s; /* of those with an onset that were found */
	size_t n_delays;
	uint64_t false_cordons, true_cordons, domain_cordons, cordons;
	uint64_t refused[GRADE_REFUSALS]; /* by enum refused_by, each host once */
	uint64_t *refused_hosts;	  /* bits, of each host */
	uint64_t alarms, sku_incidents;	  /* those of a SKU and a check are among the alarms */
	uint64_t domain_incidents, host_incidents, breaker_opened, releases, tests;
	uint64_t budget_max_used, budget_cap, domain_max_used, domain_cap, overruns;
	uint64_t reports;
};

void grade_begin(struct grade *g, size_t nodes);
void grade_release(struct grade *g);

/* The class of an ailment, or -1. */
int grade_class(const struct fault *fault, uint64_t onset_us);

/* The policy wants this host out of service, granted or refused. */
void grade_cordon(struct sim *s, size_t number, const struct decision *d);

/* The host is told of: a finding that has reached its K of N. */
void grade_warn(struct sim *s, size_t number);

/* How full the budgets are after what was done. */
void grade_budget(struct sim *s);

/* After the last day: count. */
void grade_end(struct sim *s);

/* The contract's object, and more. New reference. */
json_t *grade_encode(const struct sim *s);

/* For people. */
void grade_print(const struct sim *s, FILE *out);
