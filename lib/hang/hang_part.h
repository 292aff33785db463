/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one host says of its ranks of a job (assay-hang/1), decoded. One per host is joined to a
 * case each time the job is judged, but read only once. Pure.
 *
 * Of a group it only holds what was said of its members: the list if there is one, and the places
 * given by positions. So joining takes time proportional to what was said, however large the groups
 * are.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/hang/hang_case.h"

struct err;

/* Who reported it. */
struct hang_head {
	char node[HANG_NAME_SIZE], boot_id[48], job[256];
	int64_t run;  /* HANG_UNKNOWN */
	double age_s; /* age of the observations when sent; NAN */
};

struct hang_part_group {
	char *name, *desc; /* owned */
	uint32_t *ranks;   /* owned; [size], HANG_NOBODY; NULL: not listed */
	size_t size;
	uint32_t most; /* largest rank listed */
	bool whole;    /* all of them are listed */
	bool p2p;
};

struct hang_part_rank {
	uint32_t number;
	unsigned sources;
	struct hang_rank *said; /* owned; NULL: nothing of its process or devices */
	size_t n_positions, n_ops;
};

/* `at.group` is an index into the part's groups. */
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
	struct hang_op *ops; /* in the same order; groups as for positions */
	size_t n_ops;
	char **missing; /* owned sentences */
	size_t n_missing;
};

struct hang_part_options {
	int64_t world;	     /* members from here on are nobody; HANG_UNKNOWN: no limit */
	bool strangers_only; /* only ranks without a source in the case, and no sentences */
};

/* Zeroed: empty. */
void hang_part_release(struct hang_part *part);
void hang_part_freep(struct hang_part **part);

/* Its size in bytes. */
size_t hang_part_bytes(const struct hang_part *part);

/*
 * Joins it to the case. -EINVAL, -E2BIG, -ENOMEM with a sentence; the case is then half-filled, so
 * try untrusted ones on an empty case first.
 */
int hang_part_join(const struct hang_part *part, const struct hang_part_options *options,
		   struct hang_case *c, struct err *err);
