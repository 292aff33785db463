/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From samples that carry a path to the links that are slow. Samples of one
 * (check, unit) are one matrix and are explained together: a size that cannot
 * fill a link says nothing against it. Matrices are explained apart, since a
 * link may be slow one way only; a link found in several is told once, with
 * its lowest ratio, and so is one that a matrix cannot tell from others where
 * another matrix leaves only one of them. A cell measured repeatedly is one, at
 * its median. Only rates (better "higher", measured) speak.
 *
 * What a cell should reach is, first, what the same cell reached in
 * `reference`, a good host of the same model; without one the median of the
 * cells of its kind: same matrix, same class, same kinds of ends and of what
 * they hang from, as many measured together. A link that carries all cells of a
 * kind then stays unseen, and what few noisy cells seem to show is not named.
 * Who knows better what a cell should reach says so in `expected`. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct sample;

enum { LOCALISE_LINKS_MAX = 64, LOCALISE_AMBIGUOUS_MAX = 8 };

struct localised_link {
	char *link;
	char *check, *unit;   /* of the matrix that shows it worst */
	double ratio;	      /* of capacity to expected; below 1 */
	double capacity;      /* what it lets through, in `unit` */
	double expected;      /* the most that the cells through it should reach */
	double confidence;    /* 0 to 1 */
	char **supporting;    /* subjects, NULL-terminated */
	char **contradicting; /* likewise */
	char **ambiguous;     /* links that explain the same cells about as well */
	size_t *cells;	      /* numbers of the samples that it makes slow, in any matrix */
	size_t n_cells;
};

struct localised {
	struct localised_link *links; /* the lowest ratio first */
	size_t n;
	size_t cells;	/* that could be compared */
	size_t without; /* rates with a path that nothing was there to compare with */
	size_t beyond;	/* of `cells`, in matrices too large to be explained */
};

struct sample_list {
	const struct sample *v;
	size_t n;
};

struct localise_input {
	struct sample_list samples;
	struct sample_list reference; /* may be empty */
	/* What each sample should reach, NAN: as `reference` or its kind says. Or NULL. */
	const double *expected;
	/*
	 * Leave a matrix unexplained when the uses of links in it times its links are more; 0:
	 * no limit. 10,000 (8 RNICs with 10 ends each) is some 5 ms of a core.
	 */
	size_t work_max;
};

/* Release `ret`. */
void localise(const struct localise_input *input, struct localised *ret);
void localised_release(struct localised *l);

/*
 * A cell by its place: "mlx5_0:1>gpu:0000:1b:00.0" is the subject, but a GPU by its slot,
 * for its UUID is another on each host and says nothing to who looks for it. New memory.
 */
char *localise_cell(const struct sample *s);

/* The first half of that, "" when the subject has only one. New memory. */
char *localise_start(const struct sample *s);

/* The second half of that, "" when the subject has none. Borrowed. */
const char *localise_end(const struct sample *s);

/* localise/1 of docs/formats.md. New reference. */
json_t *localised_encode(const struct localised *l);

/*
 * "PCIe switch 0000:3f:00.0 uplink: 24.9 of 49.1 GB/s, seen on 10 paths, contradicted by none";
 * links that it cannot be told from follow by name (but for a root port's way into its
 * socket, which always goes with the link below). New memory.
 */
char *localised_sentence(const struct localised_link *link);

/*
 * What each sample was held against, into `ret_expected` (one for each): NAN for what
 * does not speak or has nothing to be compared with. Times (lower is better) too.
 */
void localise_expected(const struct localise_input *input, double *ret_expected);
