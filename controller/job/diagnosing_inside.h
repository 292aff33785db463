/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a diagnosis share: diagnosing.c, diagnosis_groups.c. */
#pragma once

#include <jansson.h>

#include "controller/job/diagnosing.h"
#include "lib/base/macro.h"
#include "lib/policy/diagnosis.h"

/* What a step works on. */
struct diagnosing_work {
	struct investigating *k;
	struct service *s;
	const struct job_judging_input *in;
	struct investigation *inv;
	struct diagnosing_now *ret;
	struct err *err;
};

/* Another line of its timeline, which is its sentence from now on. Takes the text. */
void diagnosing_note(const struct diagnosing_work *w, char *text);

/* Takes the sentence. */
void diagnosing_say_of(struct investigation_host *host, int state, char *sentence);

/* How far its campaign is, into `d`; what it says, once it is done, into `hosts`, as many as the
 * record has. */
int diagnosis_groups_look(const struct diagnosing_work *w, struct diagnosis_input *d,
			  struct diagnosis_host *hosts);

/* Begin it with those that the step asks; where there can be none `d` says so. */
int diagnosis_groups_begin(const struct diagnosing_work *w, const struct diagnosis_step *step,
			   struct diagnosis_input *d);

/* Nobody waits for it any more. */
void diagnosis_groups_withdraw(struct service *s, const json_t *diagnosis, const char *why);

/* The names of all of its hosts, new reference. */
json_t *diagnosis_groups_own(const struct investigation *inv);
