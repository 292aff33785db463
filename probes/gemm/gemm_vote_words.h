/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the result of a vote (gemm_vote.h). */
#pragma once

#include "probes/gemm/gemm_vote.h"

/*
 * The vote of one group of devices: the same factors, one product per run on all at once, each
 * result compared with the first one received.
 */
struct gemm_booth {
	struct gemm_run *run;
	struct accel_gemm_shape shape;
	size_t bytes;	   /* of a result */
	unsigned *members; /* device numbers, borrowed */
	unsigned n;
	struct gemm_job *jobs; /* by member; NULL: the job of gemm.rate */
	void *first;	       /* the first result received */
	unsigned char *piece;  /* a piece of another result */
	struct gemm_versions versions;
	struct gemm_voter *voters; /* by member */
	unsigned right;		   /* the right version, if there is one */
};

static inline struct gemm_device *gemm_booth_device(const struct gemm_booth *b, unsigned i)
{
	return &b->run->devices[b->members[i]];
}

/* Describe the verdict on member `i`. */
void gemm_vote_tell(const struct gemm_booth *b, unsigned i, struct gemm_vote *vote);
