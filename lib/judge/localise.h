/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds slow links from samples that carry a path. The samples of one (check, unit) are one matrix
 * and are explained together: a message size that cannot fill a link says nothing against it.
 * Matrices are explained separately, since a link may be slow in one direction only. A link found
 * in several matrices is reported once, with its lowest ratio; so is a link that one matrix cannot
 * tell from others if another matrix leaves only that one. A cell measured repeatedly counts once,
 * with its median. Only rates (measured, better "higher") are used.
 *
 * What a cell should reach is what the same cell reached in `reference`, a good host of the same
 * model. Without one it is the median of similar cells: same matrix, same class, same kinds of ends
 * and of devices they hang from, as many measured together. In that case a slow link that carries
 * all similar cells is not found, and nothing is named on the evidence of a few noisy cells. A
 * caller with better expected values passes them in `expected`. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct sample;

enum { LOCALISE_LINKS_MAX = 64, LOCALISE_AMBIGUOUS_MAX = 8 };

struct localised_link {
	char *link;
	char *check, *unit;   /* of the matrix where it looks worst */
	double ratio;	      /* of capacity to expected; below 1 */
	double capacity;      /* what it carries, in `unit` */
	double expected;      /* the most that the cells on it should reach */
	double confidence;    /* 0 to 1 */
	char **supporting;    /* subjects, NULL-terminated */
	char **contradicting; /* the same */
	char **ambiguous;     /* links that explain the same cells about as well */
	size_t *cells;	      /* indexes of the samples that it slows down, in all matrices */
	size_t n_cells;
};

struct localised {
	struct localised_link *links; /* lowest ratio first */
	size_t n;
	size_t cells;	/* that could be compared */
	size_t without; /* rates with a path, but nothing to compare them with */
	size_t beyond;	/* of `cells`: in matrices that were too large to explain */
};

struct sample_list {
	const struct sample *v;
	size_t n;
};

struct localise_input {
	struct sample_list samples;
	struct sample_list reference; /* may be empty */
	/* Expected value of each sample; NAN: use `reference` or similar cells. May be NULL. */
	const double *expected;
	/*
	 * Skip a matrix if (uses of links in it) times (its links) exceeds this; 0: no limit.
	 * 10,000 (8 RNICs with 10 ends each) takes about 5 ms of one core.
	 */
	size_t work_max;
};

/* The caller releases `ret`. */
void localise(const struct localise_input *input, struct localised *ret);
void localised_release(struct localised *l);

/*
 * The name of a cell by place: its subject, "mlx5_0:1>gpu:0000:1b:00.0", with a GPU named by its
 * slot, since its UUID differs on each host and does not help to find it. New memory.
 */
char *localise_cell(const struct sample *s);

/* The first half of that; "" if the subject has only one. New memory. */
char *localise_start(const struct sample *s);

/* The second half of that; "" if the subject has none. Borrowed. */
const char *localise_end(const struct sample *s);

/* localise/1 of docs/formats.md. New reference. */
json_t *localised_encode(const struct localised *l);

/*
 * "PCIe switch 0000:3f:00.0 uplink: 24.9 of 49.1 GB/s, seen on 10 paths, contradicted by none",
 * followed by the names of links that cannot be told from it (except a root port's link to its
 * socket, which always goes with the link below it). New memory.
 */
char *localised_sentence(const struct localised_link *link);

/*
 * The expected value of each sample, into `ret_expected` (as many as samples): NAN if the sample is
 * not used or has nothing to be compared with. Includes times (lower is better).
 */
void localise_expected(const struct localise_input *input, double *ret_expected);
