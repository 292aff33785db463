/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one host says of the ranks of a job that it has (assay-hang/1), decoded: as many of them as
 * there are hosts are joined to one case each time that the job is judged, and read only once.
 * Pure.
 *
 * Of a group only what was said of its members is held: the list where there is one, and the places
 * that positions tell. So joining takes as long as what was said is, however large the groups are.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/hang/hang_case.h"

struct err;

/* Whose words they are. */
struct hang_head {
	char node[HANG_NAME_SIZE], boot_id[48], job[256];
	int64_t run;  /* HANG_UNKNOWN */
	double age_s; /* of the observations when it was sent; NAN */
};

struct hang_part_group {
	char *name, *desc; /* owned */
	uint32_t *ranks;   /* owned; [size], HANG_NOBODY; NULL: nobody listed them */
	size_t size;
	uint32_t most; /* of the ranks listed */
	bool whole;    /* all of them are */
	bool p2p;
};

struct hang_part_rank {
	uint32_t number;
	unsigned sources;
	struct hang_rank *said; /* owned; NULL: nothing of its process or devices */
	size_t n_positions, n_ops;
};

/* `at.group` is a place in the part's groups. */
struct hang_part_position {
	struct hang_position at;
	int64_t place; /* of the rank in the group; HANG_UNKNOWN */
};

struct hang_part {
	struct hang_head head;
	int64_t world; /* HANG_UNKNOWN */
	struct hang_part_group *groups;
	size_t n_groups;
	struct hang_part_rank *ranks;
	size_t n_ranks;
	struct hang_part_position *positions; /* of the first rank, then of the second ... */
	size_t n_positions;
	struct hang_op *ops; /* in the same order; their groups as those of positions */
	size_t n_ops;
	char **missing; /* owned sentences */
	size_t n_missing;
};

struct hang_part_options {
	int64_t world;	     /* members from here on are nobody; HANG_UNKNOWN: any is one */
	bool strangers_only; /* ranks of which the case has no source yet, and no sentences */
};

/* Zeroes are a part that says nothing. */
void hang_part_release(struct hang_part *part);
void hang_part_freep(struct hang_part **part);

/* The bytes that it takes. */
size_t hang_part_bytes(const struct hang_part *part);

/*
 * Join it to the case. -EINVAL, -E2BIG, -ENOMEM with a sentence: the case is then half filled, so
 * try one of strangers on an empty case first.
 */
int hang_part_join(const struct hang_part *part, const struct hang_part_options *options,
		   struct hang_case *c, struct err *err);
