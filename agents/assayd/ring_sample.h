/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of the ranks whose rings are held: gathered from the rings step by step (ring_window.h)
 * and sent as parts of traces (traces.h), compressed if there is zlib.
 */
#pragma once

#include <stdint.h>

#include "agents/assayd/ring_set.h"
#include "lib/base/macro.h"

struct traces;

/* Read interval of the rings while sampling: a ring holds RING_SLOTS operations. */
#define RING_SAMPLE_LOOK_US (USEC_PER_SEC / 2)

struct ring_sample_options {
	uint64_t turn; /* number of the sample */
	bool on;       /* sampling now; if not, gathered data is dropped */
	unsigned steps;
	uint64_t now_us, now_ns; /* monotonic */
};

/*
 * Read what has been recorded, and try to make the part of one rank. Changes everything in `set`
 * except its rings; `counts` as in ring_read_ops().
 */
void ring_sample_look(struct ring_set *set, const struct ring_sample_options *options,
		      struct traces *traces, struct ring_read_counts *counts);

/* Does this process's rank have its part of this turn, or will it get none? */
bool ring_sample_is_over(const struct ring_process *p, uint64_t turn);
