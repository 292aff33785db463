/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vote: finds what exact products cannot, as they only use small numbers. The right result of
 * the random product of gemm.rate is unknown, but devices of one model must agree on it bit by bit.
 */
#pragma once

#include "probes/gemm/gemm.h"
#include "probes/gemm/gemm_ballot.h"

/* The verdict of the other devices on a device's product of random data. */
struct gemm_vote {
	int verdict;	    /* enum gemm_verdict; GEMM_ABSENT: did not take part */
	unsigned n_runs;    /* of the product */
	unsigned n_wrong;   /* wrong runs */
	uint64_t elements;  /* differing elements in the first wrong run */
	bool input_damaged; /* a factor read back differs from what was sent */
	bool again;	    /* also wrong in other memory and with another shape */
	bool sure;	    /* at least two others, and more than are wrong, agree in all runs */
	char *words;	    /* a sentence, owned; NULL if it is right */
	char *note;	    /* why there was no vote, owned; NULL */
	char **with;	    /* owned, NULL-terminated: others that may be wrong instead; NULL */
};

/*
 * Repeat the product of gemm.rate on all participating devices, and compare it bit by bit between
 * those with the same model and algorithm. Such products are identical (cuBLAS documentation,
 * "Results reproducibility": one version of the library, one architecture and number of SMs; here
 * each has its own workspace). Fills `votes` for all devices; devices that fail meanwhile are
 * excluded.
 */
void gemm_vote(struct gemm_run *run, const bool *takes_part, struct gemm_vote *votes);
void gemm_vote_release(struct gemm_vote *vote);
