/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/ingest/ingest_counts.h"

#include <stddef.h>

const double ingest_commit_limits_s[COMMIT_BUCKETS] = { 0.001, 0.0025, 0.005, 0.01, 0.025,
							0.05,  0.1,    0.5,   2 };

void ingest_counts_commit(struct ingest_counts *counts, uint64_t us)
{
	size_t i = 0;

	while (i < COMMIT_BUCKETS && (double)us > ingest_commit_limits_s[i] * 1e6)
		i++;
	counts->commit_buckets[i]++;
	counts->commit_us += us;
	counts->commits++;
}
