/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace from a file or standard input into memory: optrace/1 or CSV (told by the
 * first byte), plain or packed (input.h).
 *
 * Threads take the next block of whole lines in turn, one at a time, and read
 * their lines beside each other: what is held is the operations and a block for
 * each thread, however long the input is. The first line that is wrong is the one
 * named, whoever came across one.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct trace;
struct trace_reader;

/*
 * Open the trace at `path` ("-": standard input) and read its first line. `meta` is
 * the YAML beside a CSV, NULL for optrace/1. -EINVAL and the errno of opening or
 * reading; the sentence names the file and the line.
 */
int trace_reader_open(const char *path, const char *meta, struct trace_reader **ret_reader,
		      struct err *err);
void trace_reader_free(struct trace_reader *reader);
DEFINE_CLEANUP(struct trace_reader *, trace_reader_free, trace_reader_freep);

/*
 * Read on to the end or until about `max_ops` operations are held: 1, and what is
 * whole of them is the next trace; 0: there is no more. What is held goes beyond
 * `max_ops` while it is of a single step.
 */
int trace_reader_next(struct trace_reader *reader, size_t max_ops, struct trace **ret_trace,
		      struct err *err);

/* True once all of the input was read. */
bool trace_reader_at_end(const struct trace_reader *reader);

/* Operations read so far. */
uint64_t trace_reader_count(const struct trace_reader *reader);

/* What sentences call the input. Borrowed. */
const char *trace_reader_name(const struct trace_reader *reader);
