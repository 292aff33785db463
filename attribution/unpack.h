/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packing as a stream: bytes in, bytes out, piece by piece. Which there are is
 * a matter of the files built: unpack_gzip.c or unpack_gzip_none.c, and so on.
 */
#pragma once

#include "lib/base/macro.h"

struct err;

struct unpack_piece {
	const unsigned char *in; /* not yet unpacked; moved on */
	size_t n_in;
	unsigned char *out; /* free; moved on */
	size_t n_out;
	bool ended; /* what was unpacked so far is whole: the input may end here */
};

struct unpack {
	/* Unpack what is there. -EINVAL when it is broken, -ENOMEM. */
	int (*step)(void *state, struct unpack_piece *piece, struct err *err);
	void (*free)(void *state);
	void *state;
};

/* -EOPNOTSUPP with its sentence when it is not built in, -ENOMEM. */
int unpack_gzip(struct unpack *ret_unpack, struct err *err);
int unpack_zstd(struct unpack *ret_unpack, struct err *err);
