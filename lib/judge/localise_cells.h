/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers samples with a path into the matrices that tomography.h explains. */
#pragma once

#include "lib/judge/localise.h"
#include "lib/judge/tomography.h"

/* Indexes of samples, in their order; owned. */
struct numbers {
	size_t *v;
	size_t n;
};

/* The comparable cells of one (check, unit). */
struct matrix {
	const struct sample **samples; /* borrowed, by cell */
	struct numbers *nth;	       /* all samples of a cell, by cell */
	struct tomo_cell *cells;       /* own their `uses` */
	size_t n;
	size_t n_learned; /* expected values that come from the cells themselves */
	char **links;	  /* ids by number; owned */
	size_t n_links;
};

struct matrices {
	struct matrix *v;
	size_t n;
	size_t without; /* rates with a path, but nothing to compare them with */
};

void matrices_build(const struct localise_input *input, struct matrices *ret);
void matrices_release(struct matrices *m);
