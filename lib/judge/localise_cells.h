/* SPDX-License-Identifier: Apache-2.0 */
/* Samples with a path, gathered into the matrices that tomography.h explains. */
#pragma once

#include "lib/judge/localise.h"
#include "lib/judge/tomography.h"

/* Of samples, in the order they came in; owned. */
struct numbers {
	size_t *v;
	size_t n;
};

/* The comparable cells of one (check, unit). */
struct matrix {
	const struct sample **samples; /* borrowed, by cell; the first of a repeated one */
	struct numbers *nth;	       /* of all its samples, by cell */
	struct tomo_cell *cells;       /* own their `uses` */
	size_t n;
	size_t n_learned; /* expectations that are from the cells themselves */
	char **links;	  /* ids by number; owned */
	size_t n_links;
};

struct matrices {
	struct matrix *v;
	size_t n;
	size_t without; /* rates with a path and nothing to be compared with */
};

void matrices_build(const struct localise_input *input, struct matrices *ret);
void matrices_release(struct matrices *m);
