/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_topology.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/store/pack.h"
#include "controller/store/store_places.h"
#include "controller/store/store_sql.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/topology/topology_file.h"

int store_has_topology(struct store *s, const char *digest, bool *ret_known, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_TOPOLOGY_FIND);
	int r;

	bind_text(st, 1, digest);
	r = store_step_row(s, st, "find topology", err);
	if (r >= 0)
		*ret_known = r == 1;
	return r < 0 ? r : 0;
}

static int count(struct store *s, uint64_t *ret, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_TOPOLOGY_COUNT);
	int r = store_step_row(s, st, "count topologies", err);

	if (r == 1)
		*ret = (uint64_t)sqlite3_column_int64(st, 0);
	return r < 0 ? r : 0;
}

/* Those that no host has any more go first. */
static int make_room(struct store *s, size_t max, struct err *err)
{
	uint64_t n = 0;
	int r = count(s, &n, err);

	if (r < 0 || n < max)
		return r;
	r = store_step_done(s, store_statement(s, SQL_TOPOLOGY_DROP), "drop topologies", err);
	if (r == 0)
		r = store_forget_switches(s, err);
	if (r == 0)
		r = count(s, &n, err);
	if (r == 0 && n >= max)
		return err_set(err, EDQUOT, "%zu topologies are kept, and hosts have all of them",
			       max);
	return r;
}

static int add(struct store *s, const char *digest, const struct packed *body, uint64_t seen_us,
	       struct err *err)
{
	sqlite3_stmt *st = store_statement(s, SQL_TOPOLOGY_ADD);

	bind_text(st, 1, digest);
	bind_int(st, 2, (int64_t)seen_us);
	bind_int(st, 3, body->coding);
	(void)sqlite3_bind_blob64(st, 4, body->bytes, body->length, SQLITE_STATIC);
	return store_step_done(s, st, "add topology", err);
}

int store_add_topology(struct store *s, const struct store_topology *in, size_t max, struct err *err)
{
	CLEANUP(freep) void *memory = NULL;
	struct packed body;
	int r = pack_close(in->text, strlen(in->text), &memory, &body);

	if (r < 0)
		return err_set(err, -r, "store: a topology cannot be packed");
	r = store_begin(s, err);
	if (r == 0)
		r = make_room(s, max, err);
	if (r == 0)
		r = add(s, in->digest, &body, in->seen_us, err);
	if (r == 0)
		r = store_hear(s, sqlite3_last_insert_rowid(s->db), in->text, err);
	if (r < 0 && r != -EDQUOT)
		store_take_back(s);
	return r;
}

/* The text, of columns coding and body: new memory. */
static int unpack(sqlite3_stmt *st, char **ret_text, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TOPOLOGY_TEXT_MAX);
	const struct packed body = {
		.coding = sqlite3_column_int(st, 0),
		.bytes = sqlite3_column_blob(st, 1),
		.length = (size_t)sqlite3_column_bytes(st, 1),
	};
	int r = pack_open(&body, &text, err);

	if (r == 0)
		*ret_text = xstrdup(strbuf_text(&text));
	return r;
}

int store_topology(struct store *s, const char *digest, char **ret_text, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_TOPOLOGY_GET);
	int r;

	bind_text(st, 1, digest);
	r = store_step_row(s, st, "read topology", err);
	if (r == 0)
		return err_set(err, ENOENT, "no topology '%.80s' is known", digest);
	return r < 0 ? r : unpack(st, ret_text, err);
}

/* The next that an older version left unread: 1 with its number, and its text (new memory, NULL
 * when it cannot be unpacked). */
static int next_unheard(struct store *s, int64_t *ret_id, char **ret_text, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_TOPOLOGY_UNHEARD);
	int r = store_step_row(s, st, "read topology", err);

	if (r == 1) {
		*ret_id = sqlite3_column_int64(st, 2);
		(void)unpack(st, ret_text, NULL);
	}
	return r;
}

static int hear_next(struct store *s, struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	int64_t id = 0;
	sqlite3_stmt *st;
	int r = next_unheard(s, &id, &text, err);

	if (r <= 0)
		return r;
	r = store_begin(s, err);
	if (r == 0 && text)
		r = store_hear(s, id, text, err);
	if (r < 0)
		return r;
	st = store_statement(s, SQL_TOPOLOGY_HEARD);
	bind_int(st, 1, id);
	r = store_step_done(s, st, "note topology", err);
	return r < 0 ? r : 1;
}

int store_hear_more(struct store *s, uint64_t deadline_us, struct err *err)
{
	int r;

	do {
		r = hear_next(s, err);
	} while (r == 1 && clock_mono_us() < deadline_us);
	return r;
}

int store_unheard(struct store *s, bool *ret_any, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_TOPOLOGY_UNHEARD);
	int r = store_step_row(s, st, "read topology", err);

	if (r >= 0)
		*ret_any = r == 1;
	return r < 0 ? r : 0;
}
