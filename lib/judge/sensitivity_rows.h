/* SPDX-License-Identifier: Apache-2.0 */
/* What a run of a report would notice, by check and class. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "lib/judge/sensitivity.h"

struct sample;

/* One (check, class) of a report. */
struct sensitivity_row {
	const struct sample *sample; /* one of them, for check, class, unit and better side */
	enum sense sense;	     /* the best of any subject */
	size_t n;		     /* samples */
	size_t n_measured;
	size_t n_named;			 /* warn or worse now */
	size_t n_seen;			 /* with a `warns` */
	size_t n_failing;		 /* with a `fails` */
	const struct sensitivity *warns; /* the subject that can lose most without a warn, or NULL */
	const struct sensitivity *fails; /* the same without a fail, or NULL */
	const struct sensitivity *blind; /* a measured one without a `warns`, or NULL */
	const struct sensitivity *mild;	 /* one with a `warns` but without a `fails`, or NULL */
	double least;			 /* smallest `warns.part` of those that are good now; NAN */
	double windows, runs;		 /* medians over the subjects; NAN */
};

/*
 * The rows of `n` samples, in order of first appearance. Returns their number; the caller frees
 * `ret_rows`, which borrows from `all`.
 */
size_t sensitivity_rows(const struct sensitivity *all, size_t n, struct sensitivity_row **ret_rows);

/* Relative spread between runs: from the runs, else from the sub-windows, else NAN. */
double sensitivity_noise(const struct sensitivity_row *row);

/* The loss that a single run notices in 39 of 40 cases, relative to the value; NAN. */
double sensitivity_sure(const struct sensitivity_row *row);

/*
 * What would make the row more sensitive, one sentence without full stop; NULL: nothing. New
 * memory.
 */
char *sensitivity_needs(const struct sensitivity_row *row);

/* The row as an element of `checks` (docs/formats.md). New reference. */
json_t *sensitivity_encode(const struct sensitivity_row *row);
