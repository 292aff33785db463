/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "controller/schema.h"
#include "controller/store_sql.h"
#include "lib/err.h"
#include "lib/xalloc.h"

enum { BUSY_MS = 2000 };

/* From version i to i + 1. */
static const char *const migrations[STORE_VERSION] = { schema_sql };

static const char *const statement_texts[] = {
	[SQL_BEGIN] = "BEGIN IMMEDIATE",
	[SQL_COMMIT] = "COMMIT",
	[SQL_ROLLBACK] = "ROLLBACK",
	[SQL_NODE_FIND] = "SELECT id, boot, seq FROM nodes WHERE node = ?1",
	[SQL_NODE_ADD] = "INSERT INTO nodes (node, boot, seq, first_us, seen_us, verdict)"
			 " VALUES (?1, 0, 0, ?2, ?2, 1)",
	[SQL_NODE_UPDATE] = "UPDATE nodes SET boot = ?2, seq = ?3, time = ?4, seen_us = ?5,"
			    " profile = ?6, agent = ?7, sku = ?8, topology = ?9, env = ?10,"
			    " verdict = ?11, sentence = ?12 WHERE id = ?1",
	[SQL_NODE_SEEN] = "UPDATE nodes SET seen_us = ?2 WHERE id = ?1",
	[SQL_BOOT_FIND] = "SELECT id FROM boots WHERE node = ?1 AND boot_id = ?2",
	[SQL_BOOT_ADD] = "INSERT INTO boots (node, boot_id) VALUES (?1, ?2)",
	[SQL_REPORT_FIND] = "SELECT 1 FROM reports WHERE boot = ?1 AND seq = ?2",
	[SQL_REPORT_ADD] = "INSERT INTO reports (boot, seq, node, seen_us, time, profile, verdict,"
			   " sentence, coding, body)"
			   " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
	[SQL_ITEM_ADD] = "INSERT INTO items VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,"
			 " ?12, ?13, ?14)",
	[SQL_RUN_PUT] = "INSERT OR REPLACE INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
	[SQL_RUNS] =
		"SELECT r.profile, r.time, r.verdict, r.measured, r.report FROM runs r, nodes n"
		" WHERE n.node = ?1 AND r.node = n.id ORDER BY r.report DESC LIMIT ?2",
	[SQL_RUN_ITEMS] = "SELECT check_name, subject, level, value, unit, expected, floor, source,"
			  " n, fatal, sentence FROM items WHERE report = ?1 ORDER BY nth",
	[SQL_COUNT_NODES] = "SELECT count(*) FROM nodes",
	[SQL_NODES] = "SELECT n.node, n.verdict, n.sentence, n.sku, n.profile, n.time, n.agent,"
		      " b.boot_id, n.seen_us, n.seq, n.first_us, n.topology, n.env"
		      " FROM nodes n LEFT JOIN boots b ON b.id = n.boot"
		      " WHERE n.node > ?1 ORDER BY n.node LIMIT ?2",
	[SQL_NODE] = "SELECT n.node, n.verdict, n.sentence, n.sku, n.profile, n.time, n.agent,"
		     " b.boot_id, n.seen_us, n.seq, n.first_us, n.topology, n.env"
		     " FROM nodes n LEFT JOIN boots b ON b.id = n.boot WHERE n.node = ?1",
	[SQL_REPORTS] = "SELECT r.id, b.boot_id, r.seq, r.time, r.seen_us, r.profile, r.verdict,"
			" r.sentence FROM reports r JOIN nodes n ON n.id = r.node"
			" LEFT JOIN boots b ON b.id = r.boot"
			" WHERE n.node = ?1 AND r.id < ?2 ORDER BY r.id DESC LIMIT ?3",
	[SQL_BODIES] = "SELECT p.coding, p.body FROM runs r JOIN nodes n ON n.id = r.node"
		       " JOIN reports p ON p.id = r.report WHERE n.node = ?1"
		       " ORDER BY r.report DESC LIMIT ?2",
	[SQL_ENVS] = "SELECT node, sku, env FROM nodes WHERE seen_us >= ?1",
	[SQL_WINDOWS] =
		"SELECT check_name, subject, bits, seen, k, n, since_us, last_us FROM windows"
		" WHERE node = ?1 LIMIT ?2",
	[SQL_WINDOW_PUT] = "INSERT OR REPLACE INTO windows VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
			   " ?9)",
	[SQL_WINDOW_DROP] = "DELETE FROM windows WHERE node = ?1 AND check_name = ?2 AND"
			    " subject = ?3",
	[SQL_INCIDENT_UPDATE] = "UPDATE incidents SET subject = ?3, level = ?4, fatal = ?5,"
				" rule = ?6, action = ?7, sentence = ?8, last_us = ?9"
				" WHERE node = ?1 AND check_name = ?2 AND closed_us IS NULL",
	[SQL_INCIDENT_ADD] = "INSERT INTO incidents (node, check_name, subject, level, fatal, rule,"
			     " action, sentence, opened_us, last_us)"
			     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9)",
	[SQL_INCIDENT_CLOSE] = "UPDATE incidents SET closed_us = ?3"
			       " WHERE node = ?1 AND check_name = ?2 AND closed_us IS NULL",
	[SQL_INCIDENTS] = "SELECT id, node, check_name, subject, level, fatal, rule, action,"
			  " sentence, opened_us, last_us, closed_us FROM incidents"
			  " WHERE id < ?1 AND (?2 = 0 OR closed_us IS NULL)"
			  " ORDER BY id DESC LIMIT ?3",
	[SQL_INCIDENTS_OF_NODE] = "SELECT id, node, check_name, subject, level, fatal, rule,"
				  " action, sentence, opened_us, last_us, closed_us FROM incidents"
				  " WHERE node = ?1 AND closed_us IS NULL ORDER BY id",
	[SQL_INCIDENT] = "SELECT id, node, check_name, subject, level, fatal, rule, action,"
			 " sentence, opened_us, last_us, closed_us FROM incidents WHERE id = ?1",
	[SQL_COUNT_INCIDENTS] = "SELECT count(*) FROM incidents WHERE closed_us IS NULL",
	[SQL_COUNT_VERDICTS] = "SELECT verdict, count(*) FROM nodes GROUP BY verdict",
};

/* An errno for what a person or a retry can do about it. */
static int errno_of(int code)
{
	switch (code & 0xff) {
	case SQLITE_FULL:
		return ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return EBUSY;
	case SQLITE_NOMEM:
		return ENOMEM;
	case SQLITE_CONSTRAINT:
		return EEXIST;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return EROFS;
	case SQLITE_CANTOPEN:
		return ENOENT;
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
		return EINVAL;
	default:
		return EIO;
	}
}

int store_fail(struct store *s, const char *what, struct err *err)
{
	return err_set(err, errno_of(sqlite3_extended_errcode(s->db)), "store: %s: %s", what,
		       sqlite3_errmsg(s->db));
}

sqlite3_stmt *store_statement(struct store *s, enum statement which)
{
	sqlite3_stmt *st = s->statements[which];

	(void)sqlite3_reset(st);
	(void)sqlite3_clear_bindings(st);
	return st;
}

int store_step_row(struct store *s, sqlite3_stmt *st, const char *what, struct err *err)
{
	int code = sqlite3_step(st);

	if (code == SQLITE_ROW)
		return 1;
	return code == SQLITE_DONE ? 0 : store_fail(s, what, err);
}

int store_step_done(struct store *s, sqlite3_stmt *st, const char *what, struct err *err)
{
	int r = store_step_row(s, st, what, err);

	(void)sqlite3_reset(st);
	return r < 0 ? r : 0;
}

void bind_text(sqlite3_stmt *st, int at, const char *text)
{
	(void)sqlite3_bind_text(st, at, text, -1, SQLITE_STATIC);
}

void bind_int(sqlite3_stmt *st, int at, int64_t value)
{
	(void)sqlite3_bind_int64(st, at, value);
}

void bind_real(sqlite3_stmt *st, int at, double value)
{
	if (isfinite(value))
		(void)sqlite3_bind_double(st, at, value);
	else
		(void)sqlite3_bind_null(st, at);
}

const char *column_text(sqlite3_stmt *st, int at)
{
	return (const char *)sqlite3_column_text(st, at);
}

double column_real(sqlite3_stmt *st, int at)
{
	return sqlite3_column_type(st, at) == SQLITE_NULL ? NAN : sqlite3_column_double(st, at);
}

static int run_sql(struct store *s, const char *sql, struct err *err)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : store_fail(s, "set up", err);
}

static int read_version(struct store *s, int *ret_version, struct err *err)
{
	sqlite3_stmt *st = NULL;
	int r;

	if (sqlite3_prepare_v2(s->db, "PRAGMA user_version", -1, &st, NULL) != SQLITE_OK)
		return store_fail(s, "read", err);
	r = store_step_row(s, st, "read", err);
	if (r == 1)
		*ret_version = sqlite3_column_int(st, 0);
	(void)sqlite3_finalize(st);
	return r < 0 ? r : 0;
}

/* One step and its number in one transaction: a crash leaves the old version or the new one. */
static int migrate_one(struct store *s, int from, struct err *err)
{
	CLEANUP(freep)
	char *sql = xasprintf("BEGIN EXCLUSIVE;\n%s\nPRAGMA user_version = %d;\nCOMMIT;",
			      migrations[from], from + 1);
	int r = run_sql(s, sql, err);

	if (r < 0)
		(void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return r < 0 ? err_wrap(err, r, "to version %d", from + 1) : 0;
}

static int migrate(struct store *s, struct err *err)
{
	int version = 0, r = read_version(s, &version, err);

	if (r == 0 && version > STORE_VERSION)
		return err_set(err, EINVAL,
			       "is version %d, and this program knows %d: use a newer one", version,
			       STORE_VERSION);
	for (; r == 0 && version < STORE_VERSION; version++)
		r = migrate_one(s, version, err);
	return r;
}

static int prepare_all(struct store *s, struct err *err)
{
	size_t i;

	for (i = 0; i < SQL_LAST_; i++) {
		if (sqlite3_prepare_v3(s->db, statement_texts[i], -1, SQLITE_PREPARE_PERSISTENT,
				       &s->statements[i], NULL) != SQLITE_OK)
			return store_fail(s, statement_texts[i], err);
	}
	return 0;
}

static int set_up(struct store *s, struct err *err)
{
	/* One writer, ourselves: nobody else may open it while we run. */
	static const char pragmas[] = "PRAGMA locking_mode = EXCLUSIVE;"
				      "PRAGMA journal_mode = WAL;"
				      "PRAGMA synchronous = FULL;"
				      "PRAGMA foreign_keys = OFF;"
				      "PRAGMA wal_autocheckpoint = 4000;"
				      "PRAGMA journal_size_limit = 67108864;"
				      "PRAGMA cache_size = -32768;"
				      "PRAGMA temp_store = MEMORY;";
	int r;

	(void)sqlite3_busy_timeout(s->db, BUSY_MS);
	(void)sqlite3_extended_result_codes(s->db, 1);
	r = run_sql(s, pragmas, err);
	if (r == 0)
		r = migrate(s, err);
	return r == 0 ? prepare_all(s, err) : r;
}

int store_open(const char *path, struct store **ret_store, struct err *err)
{
	CLEANUP(store_closep) struct store *s = xcalloc(1, sizeof(*s));
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, r;

	if (sqlite3_open_v2(path, &s->db, flags, NULL) != SQLITE_OK)
		r = s->db ? store_fail(s, "open", err) : -ENOMEM;
	else
		r = set_up(s, err);
	if (r < 0)
		return err_wrap(err, r, "%s", path);
	*ret_store = TAKE(s);
	return 0;
}

void store_close(struct store *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < SQL_LAST_; i++)
		(void)sqlite3_finalize(s->statements[i]);
	(void)sqlite3_close(s->db);
	free(s);
}
