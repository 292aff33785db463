/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of browsers (controller/auth/page_session.h), stored so that whichever controller serves
 * the page next knows them. Of cookies and tokens only the SHA-256 is stored, as 64 hexadecimal
 * digits.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/base/sha256.h"

struct err;
struct store;
struct store_page;
struct store_range;

enum {
	STORE_SESSIONS_MAX = 1000,
	STORE_SESSIONS_TOKEN = 32, /* per token: the least recently used are dropped */
	STORE_ROLE_SIZE = 16,
};

/* A session to store. Texts are borrowed. */
struct store_session {
	const char *sha256, *token, *name, *role, *origin; /* `name` may be NULL */
	uint64_t made_us, until_us;
	uint64_t idle_us; /* others unused for this long have ended */
};

/*
 * Store one; returns its number in `ret_id`. Deletes ended ones. -EDQUOT with a sentence:
 * STORE_SESSIONS_MAX.
 */
int store_add_session(struct store *s, const struct store_session *session, int64_t *ret_id,
		      struct err *err);

struct store_session_found {
	int64_t id; /* 0: none */
	char token[SHA256_HEX_SIZE];
	char role[STORE_ROLE_SIZE];
	uint64_t used_us, until_us;
};
int store_find_session(struct store *s, const char *sha256, struct store_session_found *ret,
		       struct err *err);

int store_use_session(struct store *s, int64_t id, uint64_t now_us, struct err *err);

/* -ENOENT. */
int store_end_session(struct store *s, int64_t id, struct err *err);

/*
 * All, newest first, with "token": the first digits of its hash; and with "sum", the whole hash,
 * which is for checks and must not be shown.
 */
int store_sessions(struct store *s, const struct store_range *range, struct store_page *ret,
		   struct err *err);
