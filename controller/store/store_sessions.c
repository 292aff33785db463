/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_sessions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "controller/store/sql/statements.h"
#include "controller/store/store.h"
#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/json/json.h"

enum { SUM_SHOWN = 12 };

/* Make room for the new one. */
static void trim(struct db_batch *b, const struct store_session *session)
{
	db_add(b, sessions_trim, .now_us = session->made_us,
	       .used_us = session->made_us - MIN(session->made_us, session->idle_us));
	db_add(b, sessions_trim_token, .token = session->token, .most = STORE_SESSIONS_TOKEN - 1);
}

int store_add_session(struct store *s, const struct store_session *session, int64_t *ret_id,
		      struct err *err)
{
	struct db_batch b = store_write(s, err);
	struct db_sessions_count_row others = { 0 };
	struct db_session_add_row added;

	trim(&b, session);
	if (db_end(&b) < 0)
		return db_end(&b);
	b = store_ask(s, err);
	(void)db_one(&b, sessions_count, &others, .token = session->token);
	if (db_end(&b) < 0)
		return db_end(&b);
	if (others.n > STORE_SESSIONS_MAX - STORE_SESSIONS_TOKEN)
		return err_set(err, EDQUOT, "%d sessions are open: end some (assayctl session list)",
			       STORE_SESSIONS_MAX);
	b = store_write(s, err);
	if (db_one(&b, session_add, &added, .sha256 = session->sha256, .token = session->token,
		   .name = session->name, .role = session->role, .origin = session->origin,
		   .made_us = session->made_us, .until_us = session->until_us))
		*ret_id = added.id;
	return db_end(&b);
}

static int take_found(void *context, const void *p)
{
	const struct db_session_find_row *row = p;
	struct store_session_found *ret = context;

	ret->id = row->id;
	ret->used_us = row->used_us;
	ret->until_us = row->until_us;
	(void)snprintf(ret->token, sizeof(ret->token), "%s", row->token);
	(void)snprintf(ret->role, sizeof(ret->role), "%s", row->role);
	return 1;
}

int store_find_session(struct store *s, const char *sha256, struct store_session_found *ret,
		       struct err *err)
{
	struct db_batch b = store_ask(s, err);

	*ret = (struct store_session_found){ 0 };
	db_each(&b, session_find, take_found, ret, .sha256 = sha256);
	return db_end(&b);
}

int store_use_session(struct store *s, int64_t id, uint64_t now_us, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, session_use, .id = id, .used_us = now_us);
	return db_end(&b);
}

int store_end_session(struct store *s, int64_t id, struct err *err)
{
	struct db_batch b = store_write(s, err);
	struct db_session_end_row changed = { 0 };

	(void)db_one(&b, session_end, &changed, .id = id);
	if (db_end(&b) == 0 && changed.changes == 0)
		return err_set(err, ENOENT, "no session %" PRId64, id);
	return db_end(&b);
}

static json_t *item_of(const void *p, uint64_t now_us)
{
	const struct db_sessions_read_row *row = p;

	(void)now_us;
	return json_pack("{s:I, s:s?, s:s, s:s#, s:s, s:s, s:o, s:o, s:o, s:I, s:I}", "id",
			 (json_int_t)row->id, "name", row->name, "role", row->role, "token",
			 row->token, SUM_SHOWN, "sum", row->token, "origin", row->origin, "made",
			 json_stamp(row->made_us), "used", json_stamp(row->used_us), "until",
			 json_stamp(row->until_us), "used_us", (json_int_t)row->used_us, "until_us",
			 (json_int_t)row->until_us);
}

int store_sessions(struct store *s, const struct store_range *range, struct store_page *ret,
		   struct err *err)
{
	struct listing list = { .item = item_of, .limit = range->limit };
	struct db_batch b = store_ask(s, err);

	db_each(&b, sessions_read, listing_row, &list, .before = store_cursor_number(range),
		.limit = range->limit + 1);
	return listing_end(&list, &b, ret);
}
