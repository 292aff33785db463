/* SPDX-License-Identifier: Apache-2.0 */
/* The output formats of assay-attribute: one table row each. */
#pragma once

#include <stdio.h>

#include "attribution/attribution.h"

struct form {
	const char *name; /* for -o */
	/* Write window `i` of the trace; `more`: another one follows. Errors stay in the stream. */
	void (*write)(const struct attribution *attribution, size_t i, bool more, FILE *out);
};

/* Find a format by name, or NULL. */
const struct form *form_find(const char *name);

/* The format without -o. */
const struct form *form_default(void);

/* All names, for the help; must match the table. */
#define FORM_NAMES "json|table|heatmap|timeline"
