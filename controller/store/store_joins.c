/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_joins.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "controller/store/sql/statements.h"
#include "controller/store/store.h"
#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

int store_add_join_token(struct store *s, const struct store_join_token *t, int64_t *ret_id,
			 struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_join_tokens_live_row live = { 0 };
	struct db_join_token_add_row added;

	(void)db_one(&b, join_tokens_live, &live, .now_us = t->made_us);
	if (db_end(&b) < 0)
		return db_end(&b);
	if (live.n >= STORE_JOIN_TOKENS_LIVE)
		return err_set(err, EDQUOT,
			       "%d join tokens are still valid: revoke some (assayctl token list)",
			       STORE_JOIN_TOKENS_LIVE);
	b = store_write(s, err);
	db_add(&b, join_tokens_trim, .now_us = t->made_us, .most = STORE_JOIN_TOKENS_OVER);
	if (db_one(&b, join_token_add, &added, .sha256 = t->sha256, .names = t->names,
		   .hosts = t->hosts, .made_us = t->made_us, .made_by = t->made_by,
		   .expires_us = t->expires_us))
		*ret_id = added.id;
	return db_end(&b);
}

static int take_found(void *context, const void *p)
{
	const struct db_join_token_find_row *row = p;
	struct store_join_found *ret = context;

	*ret = (struct store_join_found){
		.id = row->id,
		.names = xstrdup(row->names),
		.made_by = xstrdup(row->made_by),
		.hosts = row->hosts,
		.used = row->used,
		.expires_us = row->expires_us,
		.revoked_us = row->revoked_us,
	};
	return 1;
}

int store_find_join_token(struct store *s, const char *sha256, struct store_join_found *ret,
			  struct err *err)
{
	struct db_batch b = store_ask(s, err);

	*ret = (struct store_join_found){ 0 };
	db_each(&b, join_token_find, take_found, ret, .sha256 = sha256);
	return db_end(&b);
}

/* State of a token in one word. */
static const char *state_of(const struct db_join_tokens_read_row *row, uint64_t now_us)
{
	if (row->revoked_us)
		return "revoked";
	if (row->expires_us <= now_us)
		return "expired";
	return row->used >= row->hosts ? "used up" : "valid";
}

static json_t *item_of(const void *p, uint64_t now_us)
{
	const struct db_join_tokens_read_row *row = p;

	return json_pack("{s:I, s:s, s:s, s:I, s:I, s:o, s:s, s:o}", "id", (json_int_t)row->id,
			 "state", state_of(row, now_us), "names", row->names, "hosts",
			 (json_int_t)row->hosts, "used", (json_int_t)row->used, "made",
			 json_stamp(row->made_us), "made_by", row->made_by, "expires",
			 json_stamp(row->expires_us));
}

int store_join_tokens(struct store *s, const struct store_range *range, uint64_t now_us,
		      struct store_page *ret, struct err *err)
{
	struct listing list = { .item = item_of, .limit = range->limit, .now_us = now_us };
	struct db_batch b = store_ask(s, err);

	db_each(&b, join_tokens_read, listing_row, &list, .before = store_cursor_number(range),
		.limit = range->limit + 1);
	return listing_end(&list, &b, ret);
}

int store_revoke_join_token(struct store *s, int64_t id, uint64_t now_us, struct err *err)
{
	struct db_batch b = store_write(s, err);
	struct db_join_token_revoke_row changed = { 0 };

	(void)db_one(&b, join_token_revoke, &changed, .id = id, .revoked_us = now_us);
	if (db_end(&b) == 0 && changed.changes == 0)
		return err_set(err, ENOENT, "no join token %" PRId64, id);
	return db_end(&b);
}

static int take_joined(void *context, const void *p)
{
	const struct db_joined_find_row *row = p;
	struct store_joined *ret = context;

	ret->known = true;
	ret->token = row->token;
	(void)snprintf(ret->sha256, sizeof(ret->sha256), "%s", row->sha256 ? row->sha256 : "");
	return 1;
}

int store_joined(struct store *s, const char *node, struct store_joined *ret, struct err *err)
{
	struct db_batch b = store_ask(s, err);

	*ret = (struct store_joined){ .known = false };
	db_each(&b, joined_find, take_joined, ret, .node = node);
	return db_end(&b);
}

static int take_node(void *context, const void *p)
{
	const struct db_joined_by_token_row *row = p;

	(void)snprintf(context, NODE_NAME_MAX + 1, "%s", row->node);
	return 1;
}

int store_joined_by(struct store *s, const char *sha256, char ret_node[static NODE_NAME_MAX + 1],
		    struct err *err)
{
	struct db_batch b = store_ask(s, err);

	ret_node[0] = '\0';
	db_each(&b, joined_by_token, take_node, ret_node, .sha256 = sha256);
	return db_end(&b);
}

int store_unverified(struct store *s, const char *node, bool *ret, struct err *err)
{
	struct db_batch b = store_ask(s, err);

	*ret = db_any(&b, joined_unverified, .node = node);
	return db_end(&b);
}

int store_verify(struct store *s, const char *node, uint64_t now_us, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, joined_verify, .node = node, .verified_us = now_us);
	return db_end(&b);
}

int store_join(struct store *s, const struct store_joining *j, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_joined_count_row count = { 0 };

	(void)db_one(&b, joined_count, &count);
	if (db_end(&b) < 0)
		return db_end(&b);
	if (count.n >= STORE_JOINED_MAX)
		return err_set(err, EDQUOT, "%d hosts have joined: no more fit", STORE_JOINED_MAX);
	b = store_write(s, err);
	db_add(&b, joined_put, .node = j->node, .sha256 = j->sha256, .at_us = j->at_us,
	       .token = j->token, .origin = j->origin);
	if (j->token)
		db_add(&b, join_token_use, .id = j->token);
	return db_end(&b);
}
