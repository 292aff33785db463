/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One dump of PyTorch's flight recorder: what one rank says of its groups, how far it is in each,
 * and which of its operations have not ended. Read from a pickle or from its twin in JSON.
 *
 * Keys and their meaning: torch/csrc/distributed/c10d/FlightRecorderDetail.hpp (PyTorch 2.9) and
 * dumps of a hung job. What bites:
 *   - `pg_id` is a number of that process alone: it never joins ranks. The sorted numbers of
 *     pg_status stand for the sorted (numeric) names of pg_config, which entries must confirm;
 *     otherwise only groups that an entry names have counters.
 *   - last_started is -1 where timing is off, which is the rule: it is never taken for "not started".
 *   - a group with sends and receives counts them too: its counters do not compare.
 *   - a send's or receive's ends are places in the group, not global ranks.
 *   - numbers begin with 1, and -1 is none yet: kept as 0, so that the next one is 1.
 *   - in JSON null is 0, and numbers of pg_status are texts.
 * Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/hang/hang_case.h"
#include "lib/hang/hang_value.h"

enum {
	HANG_DUMP_GROUPS_MAX = 4096,
	HANG_DUMP_ENTRIES_MAX = 1 << 20,
	HANG_DUMP_OPS_MAX = 4096, /* that are kept: the oldest that have not ended */
};

struct hang_dump_group {
	char name[HANG_NAME_SIZE], desc[HANG_NAME_SIZE];
	uint32_t *ranks; /* owned; NULL: not known */
	size_t size;
	bool p2p;
	bool has_status; /* the next are known */
	int64_t enqueued, started, completed;
};

struct hang_dump {
	char *file;	   /* owned; as people know it */
	int64_t name_rank; /* what the file's name says; -1 */
	int64_t rank;	   /* what the contents prove: the only member of all groups; -1 */
	int64_t taken;	   /* whose it is taken to be (hang_fr.h); -1 */
	struct hang_dump_group *groups;	  /* owned */
	struct hang_dump_group **by_name; /* owned; the same in the order of names */
	size_t n_groups;
	struct hang_op *ops; /* owned; `group` is a place in `groups`, `peer` a place in the group */
	size_t n_ops, n_ops_left;
};

/* Is it a dump, by its keys? */
bool hang_dump_is(const struct hang_value *document);

/* Read it; release it even on failure. -EINVAL, -E2BIG with "FILE: what". */
int hang_dump_read(struct hang_dump *dump, const struct hang_value *document, const char *file,
		   struct err *err);
void hang_dump_release(struct hang_dump *dump);

/* Do both say the same of all that is judged? */
bool hang_dump_equal(const struct hang_dump *a, const struct hang_dump *b);

/* Is the rank in all groups whose members are known? */
bool hang_dump_may_be(const struct hang_dump *dump, int64_t rank);

/* The number at the end of a file's name, its extension aside; -1: there is none. */
int64_t hang_dump_name_rank(const char *file);
