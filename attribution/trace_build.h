/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the table of keys by lanes from the operations added. */
#pragma once

#include "lib/base/macro.h"

struct err;
struct trace;
struct trace_builder;

/*
 * Build a trace from all operations so far; the builder is then empty, and keeps a copy of the
 * job. -EINVAL: a duplicate operation (with both lines), no operation at all or none on some
 * stage, fewer than TRACE_STEPS_MIN complete steps, a worker of unknown rank; -ENOMEM.
 */
int trace_build(struct trace_builder *builder, struct trace **ret_trace, struct err *err);

/*
 * Like trace_build(), but leaves out the step of the last line, which may be incomplete: for a
 * trace longer than memory, whose lines are in the order of steps. Call it only between two
 * blocks. -EAGAIN: fewer than TRACE_STEPS_MIN steps yet. If a step reappears after it was built,
 * a later build fails with -EINVAL; if too few steps are left for the last window, it fails with
 * -ENODATA.
 */
int trace_build_window(struct trace_builder *builder, struct trace **ret_trace, struct err *err);

/* Make each step start at 0. */
void trace_shift(struct trace *trace);

void trace_free(struct trace *trace);
DEFINE_CLEANUP(struct trace *, trace_free, trace_freep);
