/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a trace, whatever they are packed in: a file or standard input,
 * plain, gzip or zstd (told by their first bytes), unpacked as they are read.
 *
 * What is packed may be a bomb: past INPUT_FREE bytes no more than INPUT_RATIO
 * times what was packed is unpacked. A packed file that ends too early, or has
 * other bytes behind its end, is refused.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct input;

enum {
	INPUT_RATIO = 100,	       /* traces pack 5 to 20 times, a bomb 1000 times and more */
	INPUT_FREE = 64 * 1024 * 1024, /* unpacked without a question */
};

/* Open `path`, "-" for standard input; the sentence names it. */
int input_open(const char *path, struct input **ret_input, struct err *err);
void input_free(struct input *input);
DEFINE_CLEANUP(struct input *, input_free, input_freep);

/*
 * Read up to `size` bytes, at least one unless it is the end, then 0: the count in
 * `ret_n`. -EINVAL when the packing is broken, -E2BIG for a bomb, else the errno of
 * read(2); the sentence does not name the file.
 */
int input_read(struct input *input, void *bytes, size_t size, size_t *ret_n, struct err *err);

/* What sentences call it: the path, or "standard input". */
const char *input_name(const struct input *input);

/* Bytes as they lie in the file: read so far, and all (0 when nobody knows). */
uint64_t input_done(const struct input *input);
uint64_t input_size(const struct input *input);
