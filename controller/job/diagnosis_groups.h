/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The step of a diagnosis that measures the hosts that passed on their own with each other: one
 * campaign, together with known-good hosts.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/job/investigation.h"
#include "controller/job/job_judging.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/policy/diagnosis.h"

struct err;
struct service;

/* How long to wait for other campaigns to end, and the longest run of its own. */
#define DIAGNOSIS_GROUPS_BUSY_US (10 * USEC_PER_MIN)
#define DIAGNOSIS_GROUPS_MOST_US USEC_PER_HOUR

/* The diagnosis to work on. Borrowed. */
struct diagnosis_groups_of {
	struct service *s;
	const struct job_judging_input *in;
	struct investigation *inv;
	struct err *err;
};

/* Write the state of its campaign into `d`, and once it is done its results into `hosts`, which has
 * one entry per host of the record. */
int diagnosis_groups_look(const struct diagnosis_groups_of *w, struct diagnosis_input *d,
			  struct diagnosis_host *hosts);

/* Begin the campaign with the hosts of the step; if that is impossible, `d` says so. */
int diagnosis_groups_begin(const struct diagnosis_groups_of *w, const struct diagnosis_step *step,
			   struct diagnosis_input *d);

/* The result is no longer needed. */
void diagnosis_groups_withdraw(struct service *s, const json_t *diagnosis, const char *why);
