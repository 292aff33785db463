/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What many hosts share (a rack that is hot, a switch, a setting, a job), and what was made of it:
 * told as one, and after how many runs of its hosts; hosts blamed or cordoned singly for it.
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
	uint64_t runs; /* active ones under it until it was told */
	bool blamed, cordoned;
	unsigned open; /* its incidents that stand */
};

struct cause {
	const struct fault *fault;
	char name[24];		  /* what its notice must say: a rack, a setting, a job */
	char sku[WORLD_SKU_SIZE]; /* of its hosts; "": several */
	uint64_t onset_us, until_us, told_us; /* told 0: not */
	uint64_t fleet_us; /* ... that something is wrong with the model in that check; 0: not */
	bool counted;	   /* `left` was */
	size_t left; /* hosts still blamed CAUSE_SETTLED_US after it was told, or at the end */
	struct cause_host *hosts;
	size_t n;
};

struct causes {
	struct cause *list;
	size_t n;
};

#define CAUSE_SETTLED_US (6 * USEC_PER_HOUR)

/* A host has got it. */
void cause_add(struct causes *causes, size_t number, const struct ailment *a, const char *rack,
	       const char *sku);
void causes_release(struct causes *causes);

/* The active run of a host is in. */
void cause_run(struct sim *s, size_t number);

/* Is the check (NULL: any) of a host low by a cause now, or was it within the day? */
bool cause_explains(const struct sim *s, size_t number, const char *check);

/* An incident of a host was opened or closed. */
void cause_incident(struct sim *s, size_t number, const char *check, bool open);

/* A host was cordoned that has nothing else. */
void cause_cordon(struct sim *s, size_t number);

/* This was told of more than one host: what it is about, and the sentence; either may be NULL. */
void cause_told(struct sim *s, const char *key, const char *sentence);

/* Time has gone on; `end`: it is over. */
void causes_settle(struct sim *s, bool end);

/* An array, new reference. */
json_t *causes_encode(const struct causes *causes);
