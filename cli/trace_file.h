/* SPDX-License-Identifier: Apache-2.0 */
/* A trace as it lies in a file: read whole, and looked at only to refuse what is none. */
#pragma once

#include <stddef.h>

struct err;

enum {
	TRACE_FILE_MAX = 32 * 1024 * 1024
}; /* bytes that are sent at once: what the controller takes */

/*
 * The bytes of `path` (of standard input: "-"), new memory, at least one. Pipes are read to
 * their end. -EINVAL with one sentence that names the file: not there, empty, larger than
 * TRACE_FILE_MAX, or no trace by its first bytes.
 */
int trace_file_read(const char *path, char **ret_bytes, size_t *ret_len, struct err *err);

/*
 * Why these bytes can be no trace, and what to do; NULL when they can. What is in a compressed
 * file, and whether each line is good, is for who analyses it. Static; pure.
 */
const char *trace_file_doubt(const char *bytes, size_t len);
