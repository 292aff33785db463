/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples whose subject is "a>b", as matrices: one per (check, unit), a row for
 * each a, a column for each b, in the order that people count in. What a cell is
 * held against is what the localiser holds it against (localise.h); one without
 * a path, the median of its class in the matrix.
 * Of several samples of one cell the one that was measured alone is shown, else
 * the worst.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "lib/base/macro.h"
#include "lib/judge/localise.h"

struct sample;

enum { HEAT_SIDE_MAX = 256, HEAT_MATRICES_MAX = 32 };

struct heat_cell {
	const struct sample *sample; /* borrowed; NULL: there is none */
	double expected;	     /* NAN when there is nothing to compare with */
	double ratio;		     /* below 1 is worse, for times too; NAN likewise */
};

struct heat {
	const char *check, *unit; /* borrowed */
	char **rows, **columns;
	size_t n_rows, n_columns;
	struct heat_cell *cells; /* row after row */
};

struct heats {
	struct heat *v;
	size_t n;
	size_t left_out; /* samples beyond the limits above */
};

/* Below this ratio the localiser begins to name a link. */
#define HEAT_SLOW 0.93

void heats_build(const struct localise_input *input, struct heats *ret);
void heats_release(struct heats *heats);

/* Cells that are slow. */
size_t heat_slow(const struct heat *h);

/* Cells of all matrices that were measured. */
size_t heats_measured(const struct heats *heats);

/* `matrices` of explain/1 (docs/formats.md). New reference. */
json_t *heats_encode(const struct heats *heats);
