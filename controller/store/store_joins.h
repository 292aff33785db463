/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts that joined by themselves, and the tokens that admitted them (controller/auth/join.h). Only
 * the SHA-256 of a token is stored, as 64 hexadecimal digits.
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
	STORE_JOIN_TOKENS_LIVE = 256, /* usable ones */
	STORE_JOIN_TOKENS_OVER = 256, /* others, kept for display */
	STORE_JOINED_MAX = 50000,     /* hosts */
};

/* A token to be stored. Texts are borrowed. */
struct store_join_token {
	const char *sha256, *names, *made_by;
	uint64_t hosts, made_us, expires_us;
};

/* Store one; returns its number in `ret_id`. -EDQUOT with a sentence: too many usable ones. */
int store_add_join_token(struct store *s, const struct store_join_token *token, int64_t *ret_id,
			 struct err *err);

/* The token with that hash. */
struct store_join_found {
	int64_t id;	       /* 0: none */
	char *names, *made_by; /* owned */
	uint64_t hosts, used, expires_us, revoked_us;
};
int store_find_join_token(struct store *s, const char *sha256, struct store_join_found *ret,
			  struct err *err);

/* All, newest first. */
int store_join_tokens(struct store *s, const struct store_range *range, uint64_t now_us,
		      struct store_page *ret, struct err *err);

/* Revoke it. -ENOENT. */
int store_revoke_join_token(struct store *s, int64_t id, uint64_t now_us, struct err *err);

/* State of a name. */
struct store_joined {
	bool known;
	char sha256[SHA256_HEX_SIZE]; /* "": reset */
	int64_t token;
};
int store_joined(struct store *s, const char *node, struct store_joined *ret, struct err *err);

/* The host whose token has that hash; "": none. */
int store_joined_by(struct store *s, const char *sha256, char ret_node[static NODE_NAME_MAX + 1],
		    struct err *err);

/* A host that joins with a token, or whose name is reset (`sha256` NULL, `token` 0). */
struct store_joining {
	const char *node, *sha256, *origin; /* borrowed */
	int64_t token;
	uint64_t at_us;
};

/*
 * Has it joined, and passed no test since? Then it is unverified: not in baselines or counts of its
 * SKU, not a spare, and admitted as "degraded" at most.
 */
int store_unverified(struct store *s, const char *node, bool *ret, struct err *err);
int store_verify(struct store *s, const char *node, uint64_t now_us, struct err *err);

/* Store it, as unverified, and count it for its token if it joins. -EDQUOT: STORE_JOINED_MAX. */
int store_join(struct store *s, const struct store_joining *joining, struct err *err);
