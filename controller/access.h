/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may do what: tokens.yaml, which people write and which holds no secret,
 * only the SHA-256 of each token:
 *
 *	v: 1
 *	tokens:
 *	  - {sha256: 9f86d08..., node: gpu-17}
 *	  - {sha256: 60303ae..., role: read}
 *
 * Pure but for reading the file.
 */
#pragma once

#include "controller/api.h"
#include "lib/sha256.h"

struct err;

enum { ACCESS_TOKENS_MAX = 50000 };

struct access_token {
	char hex[SHA256_HEX_SIZE];
	int role;   /* enum role */
	char *node; /* ROLE_NODE: owned */
};

struct access {
	struct access_token *tokens; /* sorted by `hex` */
	size_t n_tokens;
	bool open; /* neither tokens nor certificates are asked for: all may do all */
	bool certificates;
};

/* Read `path`. -EINVAL with "FILE: path.to.key: what". */
int access_read(const char *path, struct access *ret, struct err *err);
void access_release(struct access *a);

/*
 * Who sent `token` (or NULL), over a connection whose verified certificate
 * names `peer` (or NULL)? A token that is sent counts, known or not. False:
 * nobody known. `ret->node` borrows from `a` or `peer`.
 */
bool access_identify(const struct access *a, const char *token, const char *peer,
		     struct identity *ret);
