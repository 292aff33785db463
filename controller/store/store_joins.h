/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts that joined by themselves, and the tokens that let them in (controller/auth/join.h).
 * Of a token only its SHA-256 is kept, as 64 hexadecimal digits.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/base/sha256.h"
#include "lib/report/node_name.h"

struct err;
struct store;
struct store_page;
struct store_range;

enum {
	STORE_JOIN_TOKENS_LIVE = 256, /* that still let somebody in */
	STORE_JOIN_TOKENS_OVER = 256, /* others that are kept, to be seen */
	STORE_JOINED_MAX = 50000,     /* hosts */
};

/* A token to be kept. Texts are borrowed. */
struct store_join_token {
	const char *sha256, *names, *made_by;
	uint64_t hosts, made_us, expires_us;
};

/* Keep one, its number into `ret_id`. -EDQUOT with a sentence: there are enough that live. */
int store_add_join_token(struct store *s, const struct store_join_token *token, int64_t *ret_id,
			 struct err *err);

/* What is known of the token with that sum. */
struct store_join_found {
	int64_t id;	       /* 0: there is none */
	char *names, *made_by; /* owned */
	uint64_t hosts, used, expires_us, revoked_us;
};
int store_find_join_token(struct store *s, const char *sha256, struct store_join_found *ret,
			  struct err *err);

/* All, the newest first. */
int store_join_tokens(struct store *s, const struct store_range *range, uint64_t now_us,
		      struct store_page *ret, struct err *err);

/* It lets in nobody any more. -ENOENT. */
int store_revoke_join_token(struct store *s, int64_t id, uint64_t now_us, struct err *err);

/* What is known of a name. */
struct store_joined {
	bool known;
	char sha256[SHA256_HEX_SIZE]; /* "": reset */
	int64_t token;
};
int store_joined(struct store *s, const char *node, struct store_joined *ret, struct err *err);

/* Whose token has that sum? "": nobody's. */
int store_joined_by(struct store *s, const char *sha256, char ret_node[static NODE_NAME_MAX + 1],
		    struct err *err);

/* A host that joins by a token, or whose name is reset (`sha256` NULL, `token` 0). */
struct store_joining {
	const char *node, *sha256, *origin; /* borrowed */
	int64_t token;
	uint64_t at_us;
};

/*
 * Has it joined, and passed no test since? Then it is unverified: in no baseline, counted among no
 * hosts of its SKU, nobody's spare, and what it is admitted as is "degraded" at most.
 */
int store_unverified(struct store *s, const char *node, bool *ret, struct err *err);
int store_verify(struct store *s, const char *node, uint64_t now_us, struct err *err);

/* Keep it, unverified; of one that joins its token counts one more. -EDQUOT: STORE_JOINED_MAX. */
int store_join(struct store *s, const struct store_joining *joining, struct err *err);
