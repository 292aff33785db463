/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks of assayctl doctor (doctor.h) know from each other. */
#pragma once

#include <jansson.h>

#include "cli/option.h"
#include "lib/base/macro.h"
#include "lib/sys/checklist.h"

struct request;

struct doctor_visit {
	const struct request *request;
	struct checklist list;
	char *base;   /* of the controller; owned; NULL: it cannot be asked */
	bool may_ask; /* it answers, and lets this token read */
	json_t *who;  /* what it says of itself and this token; owned, or NULL */
};

/* Where the value of an option comes from: "--token-file", "ASSAY_TOKEN_FILE in the environment". */
const char *doctor_visit_source(const struct doctor_visit *d, enum option_id id);
