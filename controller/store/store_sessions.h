/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of browsers (controller/auth/page_session.h). Rows, so that whoever serves the page next
 * knows them too. Of a cookie and of a token only the SHA-256 is kept, as 64 hexadecimal digits.
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
	STORE_SESSIONS_TOKEN = 32, /* of one token: those used longest ago go first */
	STORE_ROLE_SIZE = 16,
};

/* One to be kept. Texts are borrowed. */
struct store_session {
	const char *sha256, *token, *name, *role, *origin; /* `name` may be NULL */
	uint64_t made_us, until_us;
	uint64_t idle_us; /* others that were used so long ago have ended */
};

/*
 * Keep one, its number into `ret_id`; what has ended goes. -EDQUOT with a sentence:
 * STORE_SESSIONS_MAX.
 */
int store_add_session(struct store *s, const struct store_session *session, int64_t *ret_id,
		      struct err *err);

struct store_session_found {
	int64_t id; /* 0: there is none */
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
 * All, the newest first, each with "token": the first digits of its sum; and with "sum", all of
 * them, which is for who judges it and not to be told.
 */
int store_sessions(struct store *s, const struct store_range *range, struct store_page *ret,
		   struct err *err);
