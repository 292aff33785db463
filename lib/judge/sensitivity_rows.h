/* SPDX-License-Identifier: Apache-2.0 */
/* What a report would see, by check and class. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "lib/judge/sensitivity.h"

struct sample;

/* One (check, class) of a report. */
struct sensitivity_row {
	const struct sample *sample; /* one of them, for check, class, unit and better side */
	enum sense sense;	     /* the best that any subject has */
	size_t n;		     /* samples */
	size_t n_measured;
	size_t n_named;			 /* warn or worse now */
	size_t n_seen;			 /* that have a `warns` */
	size_t n_failing;		 /* that have a `fails` */
	const struct sensitivity *warns; /* the subject that may lose most unnamed, or NULL */
	const struct sensitivity *fails; /* the same unfailed, or NULL */
	const struct sensitivity *blind; /* a measured one without a `warns`, or NULL */
	const struct sensitivity *mild;	 /* one with a `warns` and without a `fails`, or NULL */
	double least;			 /* smallest `warns.part` of one not named now; NAN */
	double windows, runs;		 /* medians over the subjects; NAN */
};

/*
 * The rows of `n` samples in the order in which they first come; `ret_rows` is
 * yours to free and borrows from `all`. Returns how many.
 */
size_t sensitivity_rows(const struct sensitivity *all, size_t n, struct sensitivity_row **ret_rows);

/* Relative spread from run to run: of the runs, else of the sub-windows, else NAN. */
double sensitivity_noise(const struct sensitivity_row *row);

/* The loss that a single run names in 39 of 40 cases, as a part of the value; NAN. */
double sensitivity_sure(const struct sensitivity_row *row);

/* What would make the row see more, one sentence without a full stop; NULL when nothing. New memory. */
char *sensitivity_needs(const struct sensitivity_row *row);

/* The row as an element of `checks` (docs/formats.md). New reference. */
json_t *sensitivity_encode(const struct sensitivity_row *row);
