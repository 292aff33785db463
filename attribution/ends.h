/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks of workers from the ends of their operations, if the trace has GPU timestamps: all ranks
 * leave a collective together, except for the last hop (lib/ring/ring_clock.h), and for transfers
 * in both directions half the difference of the delays is the clock offset. So the ends of one
 * collective determine clocks to a few microseconds, if their scatter is no larger.
 *
 * A *group* is a set of workers whose ends are compared: the replicas of a stage, all workers
 * (the clip), the ends of a pipeline, or two neighbours in one. A worker's lead over the first of
 * its group is a line in time (ring_line.h). A group in which a worker scatters too much says
 * nothing about it. The remaining groups must cover all workers and agree, which rules out that a
 * host is late at just one of them.
 *
 * Offsets are per worker, not per host: the trace need not say where ranks run.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "attribution/trace.h"
#include "lib/ring/ring_line.h"

enum {
	ENDS_OPS_MIN = 8,   /* per group: fewer give no line */
	ENDS_OPS_MAX = 512, /* per group: larger ones are sampled across the trace */
};

/* Seconds: ends that scatter more, or groups that disagree more, are not used. */
#define ENDS_APART 50e-6
/* Seconds: smaller clock offsets are not corrected. */
#define ENDS_LEAST 10e-6

struct ends {
	bool agree;  /* everything needed is there and consistent */
	bool differ; /* and clocks are off by more than ENDS_LEAST and the scatter */
	/*
	 * Owned: [d * pp + stage], lead in seconds over seconds since the first step began,
	 * relative to the middle worker. Only if `agree`.
	 */
	struct ring_line *ahead;
};

/* Never fails: if nothing can be concluded, `agree` is false. Does not modify the trace. */
struct ends ends_find(const struct trace *trace);

/* Subtract the leads from the start times in the trace; only for ends that agree. */
void ends_correct(struct trace *trace, const struct ends *ends);

void ends_release(struct ends *ends);
