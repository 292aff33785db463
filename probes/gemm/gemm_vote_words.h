/* SPDX-License-Identifier: Apache-2.0 */
/* What a vote (gemm_vote.h) tells of those who took part, in words. */
#pragma once

#include "probes/gemm/gemm_vote.h"

/*
 * One group of devices is heard in a booth: the same factors, one product a run on
 * all at once, each result held against the first that came.
 */
struct gemm_booth {
	struct gemm_run *run;
	struct accel_gemm_shape shape;
	size_t bytes;	   /* of a result */
	unsigned *members; /* numbers of devices, borrowed */
	unsigned n;
	struct gemm_job *jobs; /* one a member; NULL: that of the rate */
	void *first;	       /* the result that came first */
	unsigned char *piece;  /* of another */
	struct gemm_versions versions;
	struct gemm_voter *voters; /* one a member */
	unsigned right;		   /* the right version, if there is one */
};

static inline struct gemm_device *gemm_booth_device(const struct gemm_booth *b, unsigned i)
{
	return &b->run->devices[b->members[i]];
}

/* Put the judgement of member `i` into words. */
void gemm_vote_tell(const struct gemm_booth *b, unsigned i, struct gemm_vote *vote);
