/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assayctl doctor: can this machine work with the controller, and does that protect the fleet now?
 * One line a check, as `assay doctor` has on a host. Nothing is changed.
 */
#pragma once

#include <jansson.h>

#include "cli/option.h"
#include "lib/base/macro.h"
#include "lib/sys/checklist.h"

struct request;

struct doctor {
	const struct request *request;
	struct checklist list;
	char *base;   /* of the controller; owned; NULL: it cannot be asked */
	bool may_ask; /* it answers, and lets this token read */
	json_t *who;  /* what it says of itself and this token; owned, or NULL */
};

/* Where the value of an option comes from: "--token-file", "ASSAY_TOKEN_FILE in the environment". */
const char *doctor_source(const struct doctor *d, enum option_id id);

/* The controller as anybody meets it: is it there, is its certificate good, who are we to it? */
void doctor_reach(struct doctor *d);

/* What it answers to a GET with the token: new reference; NULL: it did not, and `item` says so. */
json_t *doctor_get(struct doctor *d, const char *item, const char *path);

/* What it does: its policy, breaker, hosts and cluster. */
void doctor_acts(struct doctor *d);

/* The command: enum status. */
int run_doctor(const struct request *request);
