/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a job may be cut into pipelines of several sizes, so that any f hosts may go and the
 * rest still form f + 1 of them: the node specification and the instantiation of Oobleck
 * (Jang et al., SOSP 2023, sections 4.1.1 and 4.2.1; SymbioticLab/Oobleck 3b7a0c2).
 *
 * With the least pipeline n0 and N hosts the sizes are n0 ... N - f*n0. Then every count of
 * hosts from (f + 1)*n0 to N is covered by exactly f + 1 pipelines, for
 * (f + 1)*(N - f*n0) - N = f*(N - (f + 1)*n0) >= 0.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

enum {
	OOBLECK_HOSTS_MAX = 1024,	/* of a job that is instantiated */
	OOBLECK_OPTIONS_MAX = 20000,	/* instantiations that are listed */
	OOBLECK_WALK_MAX = 1000 * 1000, /* looked at for that */
};

/* The sizes of pipelines, in hosts: each from `first` to `last`. */
struct oobleck_sizes {
	size_t first, last;
};

/* -ERANGE when `hosts` < (`failures` + 1) * `least`; the sentence says by how many. */
int oobleck_sizes(size_t hosts, size_t failures, size_t least, struct oobleck_sizes *ret_sizes,
		  struct err *err);

/* Which counts of which sizes: `sizes` ascend, each at least 1 and none twice. */
struct oobleck_wish {
	const size_t *sizes;
	size_t n_sizes;
	size_t hosts;	  /* to be used, all of them; 1 to OOBLECK_HOSTS_MAX */
	size_t pipelines; /* at least: f + 1 */
};

/*
 * All ways to cover the hosts. In the order of the recursion
 * X(p, N) = X(p - 1, N) ++ (X(p, N - n_p) with one more of size p).
 */
struct oobleck_options {
	uint16_t *counts;  /* [i * n_sizes + p]: pipelines of size p in option i */
	size_t n;	   /* listed */
	uint64_t n_enough; /* with enough pipelines; at least this many when UINT64_MAX */
	uint64_t n_all;	   /* whatever their number of pipelines */
};

/*
 * Count them, and list those with enough pipelines: none when there are more than
 * OOBLECK_OPTIONS_MAX, or OOBLECK_WALK_MAX of all. -EINVAL for a wish out of its bounds.
 */
int oobleck_options(const struct oobleck_wish *wish, struct oobleck_options *ret_options,
		    struct err *err);
void oobleck_options_release(struct oobleck_options *options);
