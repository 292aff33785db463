/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples whose subject is "a>b", as matrices: one per (check, unit), with a row per a and a column
 * per b, in natural order. A cell is compared with the same expected value as in the localiser
 * (localise.h); a cell without a path with the median of its class in the matrix. If a cell has
 * several samples, the one that was measured alone is shown, else the worst.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "lib/base/macro.h"
#include "lib/judge/localise.h"

struct sample;

enum { HEAT_SIDE_MAX = 256, HEAT_MATRICES_MAX = 32 };

struct heat_cell {
	const struct sample *sample; /* borrowed; NULL: none */
	double expected;	     /* NAN if there is nothing to compare with */
	double ratio;		     /* below 1 is worse, for times too; NAN like `expected` */
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

/* Below this ratio the localiser begins to name links. */
#define HEAT_SLOW 0.93

void heats_build(const struct localise_input *input, struct heats *ret);
void heats_release(struct heats *heats);

/* Number of slow cells. */
size_t heat_slow(const struct heat *h);

/* Number of measured cells in all matrices. */
size_t heats_measured(const struct heats *heats);

/* `matrices` of explain/1 (docs/formats.md). New reference. */
json_t *heats_encode(const struct heats *heats);
