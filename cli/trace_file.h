/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a trace file as it is, and checks only that it may be a trace. */
#pragma once

#include <stddef.h>

struct err;

enum { TRACE_FILE_MAX = 32 * 1024 * 1024 }; /* bytes per upload: the controller's limit */

/*
 * Read all of `path` ("-": stdin), at least one byte; the caller frees it. Pipes are read to
 * their end. -EINVAL, with a message that names the file: missing, empty, larger than
 * TRACE_FILE_MAX, or not a trace by its first bytes.
 */
int trace_file_read(const char *path, char **ret_bytes, size_t *ret_len, struct err *err);

/*
 * Why these bytes cannot be a trace, and what to do; NULL if they can. The contents of compressed
 * files and the lines are left to the analysis. Static; pure.
 */
const char *trace_file_doubt(const char *bytes, size_t len);
