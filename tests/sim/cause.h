/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared causes of slowness (a hot rack, a switch, a setting, a job), and how they were handled:
 * whether one notice was raised for all, after how many runs, and which hosts were blamed or
 * cordoned individually.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "tests/sim/fault.h"

struct ailment;
struct sim;

struct cause_host {
	size_t number;
	uint64_t runs; /* active runs under the cause until its notice */
	bool blamed, cordoned;
	unsigned open; /* open incidents */
};

struct cause {
	const struct fault *fault;
	char name[24];		  /* what its notice must name: a rack, a setting, a job */
	char sku[WORLD_SKU_SIZE]; /* of its hosts; "": several */
	uint64_t onset_us, until_us, told_us; /* told_us: time of its notice; 0: none */
	uint64_t fleet_us; /* time of a notice about the model and check; 0: none */
	bool counted;	   /* `left` is set */
	size_t left;	   /* hosts still blamed CAUSE_SETTLED_US after the notice, or at the end */
	struct cause_host *hosts;
	size_t n;
};

struct causes {
	struct cause *list;
	size_t n;
};

#define CAUSE_SETTLED_US (6 * USEC_PER_HOUR)

/* Adds a host to the cause of this ailment. */
void cause_add(struct causes *causes, size_t number, const struct ailment *a, const char *rack,
	       const char *sku);
void causes_release(struct causes *causes);

/* Records an active run of a host. */
void cause_run(struct sim *s, size_t number);

/* Is the check (NULL: any) of a host low because of a cause, now or within the last day? */
bool cause_explains(const struct sim *s, size_t number, const char *check);

/* Records that an incident of a host was opened or closed. */
void cause_incident(struct sim *s, size_t number, const char *check, bool open);

/* Records a cordon of a host that has no other fault. */
void cause_cordon(struct sim *s, size_t number);

/* Records a notice about more than one host: its key and its sentence; either may be NULL. */
void cause_told(struct sim *s, const char *key, const char *sentence);

/* Called as time advances; `end`: at the end of the simulation. */
void causes_settle(struct sim *s, bool end);

/* Returns an array, a new reference. */
json_t *causes_encode(const struct causes *causes);
