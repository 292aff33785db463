/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access rights: tokens.yaml, which is edited by people and holds no secrets, only the SHA-256 of
 * each token:
 *
 *         v: 1
 *         tokens:
 *           - {sha256: 9f86d08..., node: gpu-17}
 *           - {sha256: 60303ae..., role: read}
 *           - {sha256: 2c26b46..., role: operate, name: ann}
 *           - {sha256: fcde2b2..., role: submit, jobs: "llm-*"}
 *
 * Pure except for reading the file.
 */
#pragma once

#include "controller/http/api.h"
#include "lib/base/sha256.h"

struct err;
struct jval;

enum { ACCESS_TOKENS_MAX = 50000, ACCESS_NAME_MAX = 64 };

struct tokens_one {
	char hex[SHA256_HEX_SIZE];
	int role;   /* enum role */
	char *node; /* ROLE_NODE: owned */
	char *name; /* the owner, for the records; owned, or NULL */
	char *jobs; /* ROLE_SUBMIT: shell pattern of job names; owned */
};

struct tokens {
	struct tokens_one *tokens; /* sorted by `hex` */
	size_t n_tokens;
	bool open; /* neither tokens nor certificates are required: all may do everything */
	bool certificates;
};

/* Is it valid as the name of an actor in the records? */
bool tokens_name_ok(const char *name);

/* "read", "operate" or "admin" into the enum role at `member`: for J_CUSTOM. */
int tokens_decode_role(const struct jval *v, void *member, struct err *err);

/* Read `path`. -EINVAL with "FILE: path.to.key: what". */
int tokens_read(const char *path, struct tokens *ret, struct err *err);
void tokens_release(struct tokens *a);

/* "read", "operate", ...; "" for a host. */
const char *tokens_role_name(int role);

/* The one with that SHA-256, or NULL. */
const struct tokens_one *tokens_find(const struct tokens *a, const char *sha256);

/* The role with that name, ROLE_ANYBODY if there is none. */
int tokens_role_of(const char *name);

/* Is there an entry for that host? */
bool tokens_lists(const struct tokens *a, const char *node);

/*
 * Identify the sender of `token` (or NULL) over a connection whose verified certificate names
 * `peer` (or NULL). If there is a token only it counts, known or not. Returns false if unknown.
 * `ret->node` borrows from `a` or `peer`.
 */
bool tokens_identify(const struct tokens *a, const char *token, const char *peer,
		     struct identity *ret);
