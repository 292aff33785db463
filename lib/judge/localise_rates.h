/* SPDX-License-Identifier: Apache-2.0 */
/* Rates: samples that measure a path, with the keys by which they are grouped and compared. */
#pragma once

#include "lib/judge/localise.h"

struct rate {
	const struct sample *sample; /* borrowed; of a cell measured repeatedly the first */
	size_t *nth;		     /* indexes of all these samples in their list; owned */
	size_t n;
	double value;	 /* median of them */
	double *flows;	 /* per link of the path: flows across it, this one included */
	double expected; /* NAN: nothing to compare with */
	bool learned;	 /* first rate of a kind that is expected to reach the median of the kind */
	/* Keys; owned. Rates with the same key... */
	char *matrix; /* ...are explained together */
	char *cell;   /* ...are the same cell of two hosts */
	char *kind;   /* ...should be equally fast */
};

struct rates {
	struct rate *v;
	size_t n;
};

/*
 * Gathers the measured rates of `list` that have a path; with `times`, also samples where lower is
 * better. A cell measured repeatedly becomes one rate, since its expected value would be wrong each
 * time in the same way. `other` is the list of a similar host: it provides the paths of cells that
 * are absent in `list`. It may be empty.
 */
void rates_gather(const struct sample_list *list, const struct sample_list *other, bool times,
		  struct rates *ret);
void rates_release(struct rates *rates);
