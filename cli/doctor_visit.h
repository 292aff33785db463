/* SPDX-License-Identifier: Apache-2.0 */
/* State shared by the checks of assayctl doctor (doctor.h). */
#pragma once

#include <jansson.h>

#include "cli/option.h"
#include "lib/base/macro.h"
#include "lib/sys/checklist.h"

struct request;

struct doctor_visit {
	const struct request *request;
	struct checklist list;
	char *base;   /* URL of the controller; owned; NULL: unusable */
	bool may_ask; /* it answers, and the token can read */
	json_t *who;  /* its answer about itself and the token; owned, or NULL */
};

/* Where an option's value comes from: "--token-file", "ASSAY_TOKEN_FILE in the environment". */
const char *doctor_visit_source(const struct doctor_visit *d, enum option_id id);
