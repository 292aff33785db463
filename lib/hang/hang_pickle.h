/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reader of pickles that are plain data: protocol 2 as torch::jit::Pickler writes it, which is how
 * PyTorch's flight recorder writes its dumps. A pickle is a program; of its opcodes only those are
 * known that make numbers, texts, lists, tuples and dictionaries. Any other (GLOBAL, REDUCE, BUILD,
 * INST, OBJ, NEWOBJ, PERSID, EXT1 ...) is refused by its name, and nothing is ever run.
 *
 * Opcodes: Lib/pickletools.py of Python 3; which of them are written: torch/csrc/jit/serialization/
 * pickler.cpp of PyTorch 2.9. Bounded: bytes, depth, memo, length of a text, memory. Pure.
 */
#pragma once

#include "lib/hang/hang_value.h"

enum {
	HANG_PICKLE_BYTES_MAX = 64 << 20,
	HANG_PICKLE_TEXT_MAX = 1 << 20,	    /* bytes of one text */
	HANG_PICKLE_STACK_MAX = 1 << 22,    /* values */
	HANG_PICKLE_MEMO_MAX = 1 << 22,	    /* values */
	HANG_PICKLE_MEMORY_MAX = 512 << 20, /* bytes of the pool */
};

struct err;

/* Does it begin as one? The first byte is PROTO's. */
bool hang_pickle_is(const void *bytes, size_t n);

/*
 * Read all of it into `pool`, which the value lives in. -EINVAL: "NAME: byte 17: GLOBAL is not plain
 * data: refused"; -ENODATA: it ends early; -E2BIG: a limit was passed. `name` is for the sentence.
 */
int hang_pickle_read(struct pool *pool, const void *bytes, size_t n, const char *name,
		     const struct hang_value **ret, struct err *err);
