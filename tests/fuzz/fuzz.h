/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzers of decoders of untrusted input: one program per decoder,
 * tests/fuzz/fuzz_<decoder>.c, with its seeds in tests/fuzz/corpus/<decoder>/.
 *
 * `configure --enable-fuzzers` (clang) links them with libFuzzer, and
 * `scripts/test fuzz` runs each for 30 s. Every other build links replay.c, and
 * `make check` replays the seeds.
 *
 * A target handles the bytes as its program does, then checks invariants: a
 * rejection has its message, an accepted input is the same after writing and
 * reading it again. A violation aborts the program.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;

/* Defined by each target; returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts the program unless the condition is true. */
#define FUZZ_CHECK(condition)                                        \
	do {                                                         \
		if (!(condition))                                    \
			fuzz_failed(#condition, __FILE__, __LINE__); \
	} while (0)
void fuzz_failed(const char *what, const char *file, int line) __attribute__((noreturn));

/* Returns a value as text with sorted keys. The caller frees it. */
char *fuzz_json(const json_t *value);

/* Returns a copy of the bytes with a NUL appended. The caller frees it. */
char *fuzz_text(const uint8_t *data, size_t size);

/* Returns an exact copy of the bytes, so a sanitizer detects a read past the end. */
void *fuzz_bytes(const uint8_t *data, size_t size);

/* Puts the bytes into an anonymous file. Returns its path, valid until the next call. */
const char *fuzz_file(const uint8_t *data, size_t size);

/* Returns a directory of this process, created at the first call and removed at exit. */
const char *fuzz_dir(void);

/* Writes the bytes to the file `name` in fuzz_dir(). */
void fuzz_write(const char *name, const uint8_t *data, size_t size);

/* Checks that a rejection is a negative errno with one line of valid UTF-8. */
void fuzz_refused(int r, const struct err *err);
