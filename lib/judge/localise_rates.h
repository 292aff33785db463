/* SPDX-License-Identifier: Apache-2.0 */
/* Samples that speak about a path, with the keys they are gathered and compared by. */
#pragma once

#include "lib/judge/localise.h"

struct rate {
	const struct sample *sample; /* borrowed; the first of a cell measured repeatedly */
	size_t *nth;		     /* numbers in the list it came from, of all of those; owned */
	size_t n;
	double value;	 /* their median */
	double *flows;	 /* measured together across each link of the path, itself too */
	double expected; /* NAN: nothing to compare with */
	bool learned;	 /* the first whose expectation is that of its kind, of these same rates */
	/* Owned texts; equal ones may be... */
	char *matrix; /* ...explained together */
	char *cell;   /* ...the same cell of two hosts */
	char *kind;   /* ...expected to be as fast */
};

struct rates {
	struct rate *v;
	size_t n;
};

/*
 * Those of `list` that are measured rates with a path; with `times`, where lower is better too.
 * A cell measured repeatedly is one: what it is held against is as wrong for each time.
 * `other`, of a host like it, tells the way of what `list` has no line of. It may be empty.
 */
void rates_gather(const struct sample_list *list, const struct sample_list *other, bool times,
		  struct rates *ret);
void rates_release(struct rates *rates);
