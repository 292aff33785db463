/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of the ranks whose rings are held: gathered from them by and by (ring_window.h), and sent
 * as parts of traces (traces.h), packed where there is zlib.
 */
#pragma once

#include <stdint.h>

#include "agents/assayd/ring_set.h"
#include "lib/base/macro.h"

struct traces;

/* While samples are taken the rings are read so often: a ring holds RING_SLOTS operations. */
#define RING_SAMPLE_LOOK_US (USEC_PER_SEC / 2)

struct ring_sample_options {
	uint64_t turn; /* which sample */
	bool on;       /* samples are taken now; else what was gathered is forgotten */
	unsigned steps;
	uint64_t now_us, now_ns; /* monotonic */
};

/*
 * Read what has been recorded, and see for one rank whether there is a part. All of `set` but
 * rings; `counts` as of ring_read_ops().
 */
void ring_sample_look(struct ring_set *set, const struct ring_sample_options *options,
		      struct traces *traces, struct ring_read_counts *counts);

/* Has the rank of this process what it is asked for in this turn? */
bool ring_sample_is_over(const struct ring_process *p, uint64_t turn);
