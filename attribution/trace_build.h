/* SPDX-License-Identifier: Apache-2.0 */
/* From the operations that were taken to the table of keys by lanes. */
#pragma once

#include "lib/base/macro.h"

struct err;
struct trace;
struct trace_builder;

/*
 * All operations taken so far as a trace; the builder is empty then, and keeps a
 * copy of the job. -EINVAL: an operation that is there twice (with both lines), no
 * operation at all or none on some stage, fewer than TRACE_STEPS_MIN steps that are
 * whole, a worker whose rank nobody said; -ENOMEM.
 */
int trace_build(struct trace_builder *builder, struct trace **ret_trace, struct err *err);

/*
 * Like trace_build() with all steps but that of the last line of the file, which
 * may not be complete: for a trace longer than memory, whose lines come in the
 * order of steps. Between two blocks only. -EAGAIN: fewer than TRACE_STEPS_MIN steps
 * yet. A step that comes back after it was built is -EINVAL in a later build; one whose
 * last steps are too few for a window fails with -ENODATA.
 */
int trace_build_window(struct trace_builder *builder, struct trace **ret_trace, struct err *err);

/* Let each step start at 0. */
void trace_shift(struct trace *trace);

void trace_free(struct trace *trace);
DEFINE_CLEANUP(struct trace *, trace_free, trace_freep);
