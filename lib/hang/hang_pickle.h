/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads pickles of plain data: protocol 2 as torch::jit::Pickler writes it, which PyTorch's flight
 * recorder uses for its dumps. A pickle is a program; only opcodes that make numbers, texts, lists,
 * tuples and dictionaries are supported. All others (GLOBAL, REDUCE, BUILD, INST, OBJ, NEWOBJ,
 * PERSID, EXT1 ...) are refused by name, and nothing is ever executed.
 *
 * Opcodes: Lib/pickletools.py of Python 3; those that are written:
 * torch/csrc/jit/serialization/pickler.cpp of PyTorch 2.9. Bounded in bytes, depth, memo, length of
 * a text, and memory. Pure.
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

/* True if it begins like one, with PROTO. */
bool hang_pickle_is(const void *bytes, size_t n);

/*
 * Reads all of it into `pool`, which owns the value. -EINVAL: "NAME: byte 17: GLOBAL is not plain
 * data: refused"; -ENODATA: truncated; -E2BIG: a limit was exceeded. `name` is for the message.
 */
int hang_pickle_read(struct pool *pool, const void *bytes, size_t n, const char *name,
		     const struct hang_value **ret, struct err *err);
