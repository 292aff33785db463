/* SPDX-License-Identifier: Apache-2.0 */
/* The forms in which assay-attribute answers: one row of a table each. */
#pragma once

#include <stdio.h>

#include "attribution/attribution.h"

struct form {
	const char *name; /* of -o */
	/*
	 * Window `i` of the trace, in their order; `more`: there is another one. The stream
	 * keeps errors.
	 */
	void (*write)(const struct attribution *attribution, size_t i, bool more, FILE *out);
};

/* The form of that name, or NULL. */
const struct form *form_find(const char *name);

/* That of no -o. */
const struct form *form_default(void);

/* All names, for the help: a row more is a name more. */
#define FORM_NAMES "json|table|heatmap|timeline"
