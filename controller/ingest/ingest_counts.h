/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of reports, commits and reloads since the start. */
#pragma once

#include <stdint.h>

enum { COMMIT_BUCKETS = 9 };

/* Upper bounds of the histogram of commit times, in seconds. */
extern const double ingest_commit_limits_s[COMMIT_BUCKETS];

struct ingest_counts {
	uint64_t accepted, duplicates, late, malformed, refused, shed;
	uint64_t commit_buckets[COMMIT_BUCKETS + 1]; /* the last one: longer than all bounds */
	uint64_t commit_us, commits, commit_failures;
	uint64_t reloads, reload_failures;
};

/* Count a commit that took `us`. */
void ingest_counts_commit(struct ingest_counts *counts, uint64_t us);
