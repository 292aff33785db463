/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which hosts may take part in an all-reduce: a file with the token on its first line, and a line
 * "passed HOST:PORT" for each host that passed its own tests. assayd writes it from the order.
 */
#pragma once

#include "lib/base/macro.h"

struct err;

enum { REDUCE_PEER_MAX = 300 }; /* length of a HOST:PORT */

struct reduce_permit {
	char *token;   /* owned */
	char **passed; /* owned */
};

/* -EINVAL with the first malformed line. */
int reduce_permit_read(const char *path, struct reduce_permit *ret, struct err *err);
void reduce_permit_release(struct reduce_permit *p);

/* -EPERM with the first of `peers` that is not known to have passed. */
int reduce_permit_check(const struct reduce_permit *p, char *const *peers, struct err *err);

/* Parse "HOST:PORT,HOST:PORT": 2 to COLL_RANKS_MAX, no duplicates. Caller frees. -EINVAL. */
int reduce_peers_parse(const char *text, char ***ret_peers, struct err *err);
