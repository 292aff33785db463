/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks of workers by when their operations end, where the trace has stamps of GPUs: all ranks
 * leave a collective together, up to the last hop (lib/ring/ring_clock.h), and of transfers both
 * ways half the difference of the delays is that of the clocks. So the ends of one collective tell
 * clocks to some microseconds, where they scatter by no more than that.
 *
 * A *group* is whose ends are compared: the replicas of a stage, all workers (the clip), the ends
 * of a pipeline, two neighbours in one. What a worker is ahead of the first of its group is a line
 * in time (ring_line.h). A group in which it scatters says nothing of that worker; the others must
 * reach all workers, and all must say the same, for then no host is late at one of them alone.
 *
 * By worker, not by host: where ranks are is known to others, if to anybody.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "attribution/trace.h"
#include "lib/ring/ring_line.h"

enum {
	ENDS_OPS_MIN = 8,   /* of a group: fewer have no line */
	ENDS_OPS_MAX = 512, /* of a group: of more some are taken, all over the trace */
};

/* Seconds: ends that scatter by more, or groups that differ by more, say nothing. */
#define ENDS_APART 50e-6
/* Seconds: clocks that are off by less are left as they are. */
#define ENDS_LEAST 10e-6

struct ends {
	bool agree; /* all that is needed is there, and says the same */
	bool differ; /* ... that clocks are off by more than is left as it is, and than it scatters */
	/* Owned: [d * pp + stage], seconds over seconds since the first step began; the middle
	 * worker's is 0. Only where they agree. */
	struct ring_line *ahead;
};

/* Never fails: where nothing can be said, `agree` is false. Changes nothing. */
struct ends ends_find(const struct trace *trace);

/* Take what clocks are ahead from the starts of the trace; of ends that agree. */
void ends_correct(struct trace *trace, const struct ends *ends);

void ends_release(struct ends *ends);
