/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a trace from a file or stdin into memory: optrace/1 or CSV (detected by the first byte),
 * plain or compressed (input.h).
 *
 * Threads fetch blocks of whole lines in turn and parse them in parallel: memory holds the
 * operations and one block per thread, however long the input is. The error reported is the first
 * in the file, whichever thread found one.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct trace;
struct trace_reader;

/*
 * Open the trace at `path` ("-": stdin) and read its first line. `meta` is the YAML for a CSV,
 * NULL for optrace/1. -EINVAL, or the errno of opening or reading; the message names file and
 * line.
 */
int trace_reader_open(const char *path, const char *meta, struct trace_reader **ret_reader,
		      struct err *err);
void trace_reader_free(struct trace_reader *reader);
DEFINE_CLEANUP(struct trace_reader *, trace_reader_free, trace_reader_freep);

/*
 * Read until the end or until about `max_ops` operations are held. 1: the complete steps of these
 * are the next trace; 0: there are no more. More than `max_ops` are held if a single step has
 * more.
 */
int trace_reader_next(struct trace_reader *reader, size_t max_ops, struct trace **ret_trace,
		      struct err *err);

/* Has all of the input been read? */
bool trace_reader_at_end(const struct trace_reader *reader);

/* Operations read so far. */
uint64_t trace_reader_count(const struct trace_reader *reader);

/* Name of the input for messages. Borrowed. */
const char *trace_reader_name(const struct trace_reader *reader);
