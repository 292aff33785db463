/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the rings of one process (one rank) to its part of a trace in optrace/1: what a host can
 * write of a rank of its own without having the others. docs/optrace.md, "From rings", says what
 * becomes what.
 *
 *	rings of a process -> ring_steps: whole steps -> ring_optrace: lines of optrace/1, plain
 *
 * Times are those of the host: stamps of the GPU, put on the host's clock by the least delay with
 * which the host heard of them (ring_clock.h) and counted from 1970, as parts of any other
 * source are. So parts of all hosts have one origin, and what their clocks differ by is found by
 * who has all parts.
 *
 * All ranks of a job number a step alike without speaking to each other: by NCCL's own number of
 * the step's last collective in the widest communicator. And all take the same steps, when they
 * are given the same `every`.
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
	RING_OPTRACE_PART_MAX = 4 * 1024 * 1024, /* bytes, as they are written */
};

struct ring_optrace_options {
	const char *job; /* for the first line, "" for none; borrowed */
	unsigned steps;	 /* how many a part has; 3 to RING_OPTRACE_STEPS_MAX */
	/*
	 * A part begins at a step whose number this divides, so that all hosts take the same ones;
	 * 0: the newest steps there are. At least `steps`.
	 */
	unsigned every;
	int64_t after; /* only steps of larger number: those before were sent; -1: all */
};

struct ring_part {
	struct strbuf text;	 /* owned: the first line, then the operations; plain */
	unsigned part, of;	 /* from 1: by stage and replica, as assay-optrace --part counts */
	int64_t step, last_step; /* numbers of the first and last step */
	double first_s, last_s; /* when the first operation began, and the last ended: since 1970 */
	size_t n_steps, n_lines;
	size_t n_collectives; /* operations of rings that the lines stand for */
	size_t left_out;      /* steps between that were not whole, or that differ */
	double clock_us;      /* how far stamps of the GPU scatter around the host's clock */
};

static inline void ring_part_release(struct ring_part *part)
{
	strbuf_release(&part->text);
	*part = (struct ring_part){ .n_steps = 0 };
}

/*
 * Make the next part. `rings` are all rings of the process, in any order, the operations of each
 * ascending by number; bad stamps, gaps in the numbers, and beginnings and ends of no whole step
 * are expected. 0; -EAGAIN: not enough whole steps yet; -ENOTUNIQ: the rank is a peer within a
 * tensor-parallel group, of which nothing is wanted; -ENODATA: no part can be made of such rings:
 * `err` says why in one sentence; -EINVAL: a shape or an option that cannot be.
 * On success `ret` is to be released.
 */
int ring_optrace(const struct ring_view *rings, size_t n, const struct ring_shape *shape,
		 const struct ring_optrace_options *options, struct ring_part *ret, struct err *err);
