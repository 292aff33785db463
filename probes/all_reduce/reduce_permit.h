/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may meet for an all-reduce: a file with the token in its first line, and
 * for each host that passed its own tests a line "passed HOST:PORT". assayd
 * writes it from the order.
 */
#pragma once

#include "lib/base/macro.h"

struct err;

enum { REDUCE_PEER_MAX = 300 }; /* bytes of a HOST:PORT */

struct reduce_permit {
	char *token;   /* owned */
	char **passed; /* owned */
};

/* -EINVAL with the line that is neither. */
int reduce_permit_read(const char *path, struct reduce_permit *ret, struct err *err);
void reduce_permit_release(struct reduce_permit *p);

/* -EPERM with the first of `peers` that is not known to have passed. */
int reduce_permit_check(const struct reduce_permit *p, char *const *peers, struct err *err);

/* "HOST:PORT,HOST:PORT": 2 to COLL_RANKS_MAX, none twice. New memory; -EINVAL. */
int reduce_peers_parse(const char *text, char ***ret_peers, struct err *err);
