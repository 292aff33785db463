/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a trace from a file or stdin: plain, gzip or zstd (detected by magic),
 * decompressed on the fly.
 *
 * Compressed input may be a decompression bomb: beyond INPUT_FREE bytes, at most INPUT_RATIO
 * times the compressed size is unpacked. Truncated input, or trailing garbage, is an error.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct input;

enum {
	INPUT_RATIO = 100,	       /* traces compress 5 to 20 times, bombs 1000 and more */
	INPUT_FREE = 64 * 1024 * 1024, /* unpacked without checking the ratio */
};

/* Open `path` ("-": stdin). Messages name it. */
int input_open(const char *path, struct input **ret_input, struct err *err);
void input_free(struct input *input);
DEFINE_CLEANUP(struct input *, input_free, input_freep);

/*
 * Read up to `size` bytes; `ret_n` is at least 1, or 0 at the end. -EINVAL if the compressed data
 * is corrupt, -E2BIG for a bomb, else the errno of read(2). The message does not name the file.
 */
int input_read(struct input *input, void *bytes, size_t size, size_t *ret_n, struct err *err);

/* Name for messages: the path, or "standard input". */
const char *input_name(const struct input *input);

/* Compressed size in bytes: read so far, and total (0 if unknown). */
uint64_t input_done(const struct input *input);
uint64_t input_size(const struct input *input);
