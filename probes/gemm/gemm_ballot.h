/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which devices are wrong if results that should be bit-identical differ: runs of one
 * product on several devices. Pure.
 *
 * Each distinct result is a version, identified by its differences from version 0, the first one
 * seen. A device votes for the version of most of its own runs, and the version with most votes is
 * right.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum {
	GEMM_RUNS_MAX = 16,
	GEMM_VERSIONS_MAX = 32, /* the last one stands for all others */
};

struct gemm_version {
	uint64_t hash;	/* over all differences */
	uint64_t count; /* elements that differ from version 0 */
	uint64_t at;	/* the first such element */
	double is, was; /* its value here, and in version 0 */
};

struct gemm_versions {
	struct gemm_version list[GEMM_VERSIONS_MAX]; /* the first is all zeros */
	unsigned n;				     /* 0: none yet */
};

/* Number of version `v`, which is added if it is new. */
unsigned gemm_versions_add(struct gemm_versions *versions, const struct gemm_version *v);

/*
 * Find the first element in which versions `a` and `b` differ: its value in `a` (is) and in `b`
 * (was), and the minimum number of differences. Returns false if the stored information is not
 * sufficient.
 */
bool gemm_versions_differ(const struct gemm_versions *versions, unsigned a, unsigned b,
			  struct gemm_version *ret);

enum gemm_verdict {
	GEMM_ABSENT,
	GEMM_RIGHT,
	GEMM_WRONG,
	GEMM_UNDECIDED, /* the votes are tied */
};

/* The runs of one device, and the verdict on it. */
struct gemm_voter {
	unsigned n_runs; /* 0: did not take part */
	unsigned versions[GEMM_RUNS_MAX];
	bool silent; /* known to be wrong: judged, but has no vote */
	/* Output: */
	int verdict;	  /* enum gemm_verdict */
	unsigned n_wrong; /* number of wrong runs */
	unsigned first;	  /* the first of them; for UNDECIDED, any run */
};

/*
 * Judge `n` voters. Returns true with the number of the right version. Returns false if there is
 * none; devices that contradict themselves are then wrong, the others undecided.
 */
bool gemm_ballot(struct gemm_voter *voters, unsigned n, unsigned *ret_right);
