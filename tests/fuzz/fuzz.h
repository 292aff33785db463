/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoders of what strangers send, given any bytes: one program a decoder,
 * tests/fuzz/fuzz_<decoder>.c, with its seeds in tests/fuzz/corpus/<decoder>/.
 *
 * `configure --enable-fuzzers` (clang) links them with libFuzzer, and
 * `scripts/test fuzz` lets each search for 30 s. Every other build links
 * replay.c, and `make check` plays the seeds back.
 *
 * A target does with the bytes what its program does, then asks what must hold
 * whatever they are: a refusal has its sentence, what was taken is written and
 * read again as the same. What does not hold ends the program.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;

/* What each target defines; 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* End the program unless it is true. */
#define FUZZ_CHECK(condition)                                        \
	do {                                                         \
		if (!(condition))                                    \
			fuzz_failed(#condition, __FILE__, __LINE__); \
	} while (0)
void fuzz_failed(const char *what, const char *file, int line) __attribute__((noreturn));

/* A value as text that does not depend on the order of its keys, new memory. */
char *fuzz_json(const json_t *value);

/* The bytes with a NUL behind them, in memory of their own; free it. */
char *fuzz_text(const uint8_t *data, size_t size);

/* Exactly the bytes, in memory of their own, so that a read past their end is seen. */
void *fuzz_bytes(const uint8_t *data, size_t size);

/* The bytes as a file that is nowhere: its path, valid until the next call. */
const char *fuzz_file(const uint8_t *data, size_t size);

/* A directory of this process, made at the first call and removed at its end. */
const char *fuzz_dir(void);

/* The bytes as the file `name` in fuzz_dir(). */
void fuzz_write(const char *name, const uint8_t *data, size_t size);

/* A refusal is a negative errno with one line of valid UTF-8. */
void fuzz_refused(int r, const struct err *err);
