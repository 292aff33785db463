/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vote: what integers cannot tell. An exact product is of small numbers;
 * of the random product of the rate nobody knows what is right, but devices of
 * one model must agree on it in every bit.
 */
#pragma once

#include "probes/gemm/gemm.h"
#include "probes/gemm/gemm_ballot.h"

/* What the others say of a device's product of random data. */
struct gemm_vote {
	int verdict;	    /* enum gemm_verdict; GEMM_ABSENT: it did not take part */
	unsigned n_runs;    /* of the product */
	unsigned n_wrong;   /* of these */
	uint64_t elements;  /* that differ, in the first of them */
	bool input_damaged; /* a factor read back is not what was sent */
	bool again;	    /* the same in other memory and another shape */
	bool sure;	    /* two others at least, and more than are wrong, always agree */
	char *words;	    /* a sentence, owned; NULL when it is right */
	char *note;	    /* why there was no vote, owned; NULL */
	char **with;	    /* owned, NULL-terminated: the others of whom one may be wrong; NULL */
};

/*
 * The product of the rate on all devices that take part, again and again, and
 * compared bit by bit between those of one model with one algorithm. Such products are the same
 * (cuBLAS documentation, "Results reproducibility": one version of the library, one architecture
 * and number of SMs; each has its own workspace here). Fills `votes` of all devices; who fails
 * meanwhile is taken out.
 */
void gemm_vote(struct gemm_run *run, const bool *takes_part, struct gemm_vote *votes);
void gemm_vote_release(struct gemm_vote *vote);
