/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streaming decompression, piece by piece. The build selects the formats: unpack_gzip.c or
 * unpack_gzip_none.c, and so on.
 */
#pragma once

#include "lib/base/macro.h"

struct err;

struct unpack_piece {
	const unsigned char *in; /* remaining input; advanced */
	size_t n_in;
	unsigned char *out; /* free output space; advanced */
	size_t n_out;
	bool ended; /* the data so far is complete: the input may end here */
};

struct unpack {
	/* Decompress as much as possible. -EINVAL if the data is corrupt, -ENOMEM. */
	int (*step)(void *state, struct unpack_piece *piece, struct err *err);
	void (*free)(void *state);
	void *state;
};

/* -EOPNOTSUPP, with a message, if not built in; -ENOMEM. */
int unpack_gzip(struct unpack *ret_unpack, struct err *err);
int unpack_zstd(struct unpack *ret_unpack, struct err *err);
