/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is wrong when results differ that should be the same in every bit: runs
 * of one product on several devices. Pure.
 *
 * Each different result is a version, known by what sets it apart from
 * version 0, the first that came. A device speaks for the version that most
 * of its own runs have; what most devices speak for is right.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum {
	GEMM_RUNS_MAX = 16,
	GEMM_VERSIONS_MAX = 32, /* the last stands for all further ones */
};

struct gemm_version {
	uint64_t hash;	/* of all differences */
	uint64_t count; /* elements that differ from version 0 */
	uint64_t at;	/* the first of them */
	double is, was; /* it, here and in version 0 */
};

struct gemm_versions {
	struct gemm_version list[GEMM_VERSIONS_MAX]; /* the first is all zeros */
	unsigned n;				     /* 0: nothing came yet */
};

/* The number of `v`, which is added when it is new. */
unsigned gemm_versions_add(struct gemm_versions *versions, const struct gemm_version *v);

/*
 * The first element in which versions `a` and `b` differ, as in `a` (is) and in
 * `b` (was), with how many at least; false when what is known of them does not tell.
 */
bool gemm_versions_differ(const struct gemm_versions *versions, unsigned a, unsigned b,
			  struct gemm_version *ret);

enum gemm_verdict {
	GEMM_ABSENT,
	GEMM_RIGHT,
	GEMM_WRONG,
	GEMM_UNDECIDED, /* as many say otherwise */
};

/* What one device did, and what follows. */
struct gemm_voter {
	unsigned n_runs; /* 0: it did not take part */
	unsigned versions[GEMM_RUNS_MAX];
	bool silent; /* it is known to be wrong: heard, but not asked */
	/* Out: */
	int verdict;	  /* enum gemm_verdict */
	unsigned n_wrong; /* runs */
	unsigned first;	  /* of them; a run of an undecided one */
};

/*
 * Judge `n` voters. True with the number of the right version; false when there
 * is none: then those that do not agree with themselves are wrong, the others undecided.
 */
bool gemm_ballot(struct gemm_voter *voters, unsigned n, unsigned *ret_right);
