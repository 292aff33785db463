/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a job can be divided into pipelines of several sizes, so that any f hosts may fail and the
 * rest can still form f + 1 pipelines: node specification and instantiation of Oobleck (Jang et
 * al., SOSP 2023, sections 4.1.1 and 4.2.1; SymbioticLab/Oobleck 3b7a0c2).
 *
 * With n0 hosts for the smallest pipeline and N hosts, the sizes are n0 ... N - f*n0. Then every
 * number of hosts from (f + 1)*n0 to N is covered by exactly f + 1 pipelines, since (f + 1)*(N -
 * f*n0) - N = f*(N - (f + 1)*n0) >= 0.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

enum {
	OOBLECK_HOSTS_MAX = 1024,	/* of a job that is instantiated */
	OOBLECK_OPTIONS_MAX = 20000,	/* instantiations listed */
	OOBLECK_WALK_MAX = 1000 * 1000, /* visited to list them */
};

/* Sizes of pipelines in hosts, from `first` to `last`. */
struct oobleck_sizes {
	size_t first, last;
};

/* -ERANGE if `hosts` < (`failures` + 1) * `least`, with the shortfall in the message. */
int oobleck_sizes(size_t hosts, size_t failures, size_t least, struct oobleck_sizes *ret_sizes,
		  struct err *err);

/* Allowed sizes: `sizes` ascend, at least 1 and without duplicates. */
struct oobleck_wish {
	const size_t *sizes;
	size_t n_sizes;
	size_t hosts;	  /* all of them are used; 1 to OOBLECK_HOSTS_MAX */
	size_t pipelines; /* at least this many: f + 1 */
};

/*
 * All ways to cover the hosts, in the order of the recursion X(p, N) = X(p - 1, N) ++ (X(p, N -
 * n_p) with one more of size p).
 */
struct oobleck_options {
	uint16_t *counts;  /* [i * n_sizes + p]: pipelines of size p in option i */
	size_t n;	   /* listed */
	uint64_t n_enough; /* with enough pipelines; UINT64_MAX: at least that many */
	uint64_t n_all;	   /* with any number of pipelines */
};

/*
 * Counts the options, and lists those with enough pipelines; lists none if there are more than
 * OOBLECK_OPTIONS_MAX, or OOBLECK_WALK_MAX in all. -EINVAL for input out of bounds.
 */
int oobleck_options(const struct oobleck_wish *wish, struct oobleck_options *ret_options,
		    struct err *err);
void oobleck_options_release(struct oobleck_options *options);
