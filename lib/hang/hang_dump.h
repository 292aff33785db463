/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One dump of PyTorch's flight recorder: what one rank says of its groups, how far it is in each,
 * and which of its operations have not ended. Read from a pickle or its JSON equivalent.
 *
 * Keys and their meaning: torch/csrc/distributed/c10d/FlightRecorderDetail.hpp (PyTorch 2.9) and
 * dumps of a hung job. Pitfalls:
 * - `pg_id` is a number local to the process and never matches across ranks. The sorted numbers of
 *   pg_status correspond to the sorted (numeric) names of pg_config, if the entries confirm that;
 *   otherwise only groups that an entry names have counters.
 * - last_started is -1 if timing is off, which is usual; that never means "not started".
 * - a group with sends and receives counts them too, so its counters are not comparable.
 * - the ends of a send or receive are places in the group, not global ranks.
 * - numbers start at 1, and -1 means none yet: stored as 0, so that the next one is 1.
 * - in JSON, null is 0, and the numbers of pg_status are texts.
 *
 * Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/hang/hang_case.h"
#include "lib/hang/hang_value.h"

enum {
	HANG_DUMP_GROUPS_MAX = 4096,
	HANG_DUMP_ENTRIES_MAX = 1 << 20,
	HANG_DUMP_OPS_MAX = 4096, /* kept: the oldest ones that have not ended */
};

struct hang_dump_group {
	char name[HANG_NAME_SIZE], desc[HANG_NAME_SIZE];
	uint32_t *ranks; /* owned; NULL: unknown */
	size_t size;
	bool p2p;
	bool has_status; /* the next three are known */
	int64_t enqueued, started, completed;
};

struct hang_dump {
	char *file;	   /* owned; name for people */
	int64_t name_rank; /* from the file's name; -1 */
	int64_t rank;	   /* proven by the contents: the only member of all groups; -1 */
	int64_t taken;	   /* the rank it is attributed to (hang_fr.h); -1 */
	struct hang_dump_group *groups;	  /* owned */
	struct hang_dump_group **by_name; /* owned; the same, sorted by name */
	size_t n_groups;
	struct hang_op
		*ops; /* owned; `group` is an index into `groups`, `peer` a place in the group */
	size_t n_ops, n_ops_left;
};

/* True if it is a dump, judging by its keys. */
bool hang_dump_is(const struct hang_value *document);

/* Reads it; must be released even on failure. -EINVAL, -E2BIG with "FILE: what". */
int hang_dump_read(struct hang_dump *dump, const struct hang_value *document, const char *file,
		   struct err *err);
void hang_dump_release(struct hang_dump *dump);

/* True if both say the same about everything that is judged. */
bool hang_dump_equal(const struct hang_dump *a, const struct hang_dump *b);

/* True if the rank is in all groups with known members. */
bool hang_dump_may_be(const struct hang_dump *dump, int64_t rank);

/* The number at the end of a file's name, before the extension; -1 if there is none. */
int64_t hang_dump_name_rank(const char *file);
