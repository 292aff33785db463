/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a diagnosis in which the hosts that passed by themselves are measured with each
 * other: one campaign, with hosts that are known to be good.
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

/* So long a campaign waits for others to end; and it goes on so long at most. */
#define DIAGNOSIS_GROUPS_BUSY_US (10 * USEC_PER_MIN)
#define DIAGNOSIS_GROUPS_MOST_US USEC_PER_HOUR

/* Of which diagnosis. Borrowed. */
struct diagnosis_groups_of {
	struct service *s;
	const struct job_judging_input *in;
	struct investigation *inv;
	struct err *err;
};

/* How far its campaign is, into `d`; what it says, once it is done, into `hosts`, as many as the
 * record has. */
int diagnosis_groups_look(const struct diagnosis_groups_of *w, struct diagnosis_input *d,
			  struct diagnosis_host *hosts);

/* Begin it with those that the step asks; where there can be none `d` says so. */
int diagnosis_groups_begin(const struct diagnosis_groups_of *w, const struct diagnosis_step *step,
			   struct diagnosis_input *d);

/* Nobody waits for it any more. */
void diagnosis_groups_withdraw(struct service *s, const json_t *diagnosis, const char *why);
