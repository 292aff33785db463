/* SPDX-License-Identifier: Apache-2.0 */
/* What Prometheus is told: text format 0.0.4, every family with HELP and TYPE. */
#pragma once

#include <stdint.h>

#include "lib/macro.h"

struct api_counts;

enum { COMMIT_BUCKETS = 9 };

struct metrics {
	uint64_t accepted, duplicates, late, malformed, refused;
	uint64_t commit_buckets[COMMIT_BUCKETS + 1]; /* the last one: longer than all */
	uint64_t commit_us, commits, commit_failures;
};

/* Note one commit that took `us`. */
void metrics_commit(struct metrics *m, uint64_t us);

/* The whole text, new memory. `nodes` are hosts by level of their verdict. */
char *metrics_text(const struct metrics *m, const uint64_t nodes[static 4], uint64_t incidents,
		   const struct api_counts *api);
