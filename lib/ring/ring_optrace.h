/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts the rings of one process (one rank) to its part of a trace in optrace/1: what a host can
 * write about one of its ranks without the others. The mapping is in docs/optrace.md, "From rings".
 *
 *	rings of a process -> ring_steps: whole steps -> ring_optrace: lines of optrace/1, plain
 *
 * Times are in the host's clock: GPU timestamps, converted by the least delay with which the host
 * heard of them (ring_clock.h), counted from 1970 like those of any other source. So parts of all
 * hosts have the same origin, and the differences of their clocks are found by whoever has all
 * parts.
 *
 * All ranks of a job number a step alike without communicating: by NCCL's own number of the step's
 * last collective in the widest communicator. With the same `every` they also select the same
 * steps.
 *
 * Only the first rank of a tensor-parallel group has a part. Pure.
 */
#pragma once

#include <stdint.h>

#include "lib/base/strbuf.h"
#include "lib/ring/ring_kind.h"
#include "lib/ring/ring_op.h"

struct err;

enum {
	RING_OPTRACE_STEPS_MAX = 64,		 /* of a part */
	RING_OPTRACE_PART_MAX = 4 * 1024 * 1024, /* bytes of output */
};

struct ring_optrace_options {
	const char *job; /* for the first line, "" for none; borrowed */
	unsigned steps;	 /* per part; 3 to RING_OPTRACE_STEPS_MAX */
	/*
	 * A part begins at a step whose number is a multiple of this, so that all hosts select the
	 * same ones; 0: the newest steps. At least `steps`.
	 */
	unsigned every;
	int64_t after; /* only steps with larger numbers (others were sent already); -1: all */
};

struct ring_part {
	struct strbuf text;	 /* owned: the first line, then the operations; plain */
	unsigned part, of;	 /* from 1: by stage and replica, as assay-optrace --part counts */
	int64_t step, last_step; /* numbers of the first and last step */
	double first_s, last_s;	 /* start of the first operation, end of the last: since 1970 */
	size_t n_steps, n_lines;
	size_t n_collectives; /* operations of rings that the lines represent */
	size_t left_out;      /* steps in between that were not whole, or that differ */
	double clock_us;      /* scatter of GPU timestamps around the host's clock */
};

static inline void ring_part_release(struct ring_part *part)
{
	strbuf_release(&part->text);
	*part = (struct ring_part){ .n_steps = 0 };
}

/*
 * Makes the next part. `rings` are all rings of the process, in any order, the operations of each
 * ascending by number; bad timestamps, gaps in the numbers, and incomplete steps at both ends are
 * expected. Returns 0; -EAGAIN: not enough whole steps yet; -ENOTUNIQ: the rank is not the first of
 * its tensor-parallel group, and has no part; -ENODATA: these rings cannot be converted, with the
 * reason; -EINVAL: an invalid shape or option. On success the caller releases `ret`.
 */
int ring_optrace(const struct ring_view *rings, size_t n, const struct ring_shape *shape,
		 const struct ring_optrace_options *options, struct ring_part *ret, struct err *err);
