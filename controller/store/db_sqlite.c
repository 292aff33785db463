/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/db_sqlite.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "controller/store/sql/statements.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

struct db {
	sqlite3 *file;
	sqlite3_stmt *prepared[DB_STATEMENTS];
	db_change_fn *change; /* or NULL */
	void *change_context;
};

/* An errno that tells what a person or a retry can do. */
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

int db_sqlite_fail(sqlite3 *file, const char *what, struct err *err)
{
	return err_set(err, errno_of(sqlite3_extended_errcode(file)), "store: %s: %s", what,
		       sqlite3_errmsg(file));
}

/* --- values: between members of a struct and SQLite --- */

static void bind_number(sqlite3_stmt *st, int n, int64_t value, bool or_null)
{
	if (value != 0 || !or_null)
		(void)sqlite3_bind_int64(st, n, value);
}

/* Unbound values are NULL. */
static void bind(sqlite3_stmt *st, int n, const struct db_value *value, const char *in)
{
	const void *at = in + value->offset;
	const double *real = at;
	const struct db_bytes *bytes = at;

	switch (value->type) {
	case DB_INT:
	case DB_INT_OR_NULL:
		bind_number(st, n, *(const int64_t *)at, value->type == DB_INT_OR_NULL);
		return;
	case DB_UINT:
	case DB_UINT_OR_NULL:
		bind_number(st, n, (int64_t) * (const uint64_t *)at, value->type == DB_UINT_OR_NULL);
		return;
	case DB_REAL:
		if (isfinite(*real))
			(void)sqlite3_bind_double(st, n, *real);
		return;
	case DB_TEXT:
		(void)sqlite3_bind_text(st, n, *(const char *const *)at, -1, SQLITE_STATIC);
		return;
	case DB_BYTES:
		(void)sqlite3_bind_blob64(st, n, bytes->bytes, bytes->length, SQLITE_STATIC);
		return;
	}
}

static void read_value(sqlite3_stmt *st, int n, const struct db_value *value, char *row)
{
	void *at = row + value->offset;

	switch (value->type) {
	case DB_INT:
	case DB_INT_OR_NULL:
		*(int64_t *)at = sqlite3_column_int64(st, n);
		return;
	case DB_UINT:
	case DB_UINT_OR_NULL:
		*(uint64_t *)at = (uint64_t)sqlite3_column_int64(st, n);
		return;
	case DB_REAL:
		*(double *)at = sqlite3_column_type(st, n) == SQLITE_NULL
					? NAN
					: sqlite3_column_double(st, n);
		return;
	case DB_TEXT:
		*(const char **)at = (const char *)sqlite3_column_text(st, n);
		return;
	case DB_BYTES:
		((struct db_bytes *)at)->bytes = sqlite3_column_blob(st, n);
		((struct db_bytes *)at)->length = (size_t)sqlite3_column_bytes(st, n);
		return;
	}
}

static void read_row(sqlite3_stmt *st, const struct db_statement *s, void *row)
{
	int i;

	for (i = 0; i < s->n_out; i++)
		read_value(st, i, &s->out[i], row);
}

/* --- running statements --- */

static sqlite3_stmt *bound(const struct db *db, int statement, const void *in)
{
	const struct db_statement *s = &db_statements[statement];
	sqlite3_stmt *st = db->prepared[statement];
	int i;

	for (i = 0; i < s->n_in; i++)
		bind(st, i + 1, &s->in[i], in);
	return st;
}

/* Release locks and references to the caller's memory. */
static void let_go(sqlite3_stmt *st)
{
	(void)sqlite3_reset(st);
	(void)sqlite3_clear_bindings(st);
}

/* Returns 1 with a row, 0 at the end. */
static int step(struct db_batch *b, int statement, sqlite3_stmt *st)
{
	const int code = sqlite3_step(st);

	if (code == SQLITE_ROW || code == SQLITE_DONE)
		return code == SQLITE_ROW;
	return db_sqlite_fail(b->db->file, db_statements[statement].words, b->err);
}

void db_ask(struct db_batch *b, int statement, const void *in, db_row_fn *each, void *context)
{
	union db_row row;
	sqlite3_stmt *st;
	int r;

	if (b->r < 0)
		return;
	st = bound(b->db, statement, in);
	while ((r = step(b, statement, st)) == 1 && each) {
		read_row(st, &db_statements[statement], &row);
		r = each(context, &row);
		if (r != 0)
			break;
	}
	b->r = MIN(r, 0);
	let_go(st);
}

bool db_ask_one(struct db_batch *b, int statement, const void *in, void *ret_row)
{
	const struct db_statement *s = &db_statements[statement];
	sqlite3_stmt *st;
	int r;

	if (b->r < 0)
		return false;
	st = bound(b->db, statement, in);
	r = step(b, statement, st);
	b->r = MIN(r, 0);
	if (r == 1 && ret_row)
		read_row(st, s, ret_row);
	if (r == 0 && s->gives == DB_GIVES_ID)
		*(int64_t *)ret_row = sqlite3_last_insert_rowid(b->db->file);
	if (r == 0 && s->gives == DB_GIVES_CHANGES)
		*(uint64_t *)ret_row = (uint64_t)sqlite3_changes(b->db->file);
	let_go(st);
	return r == 1 || (r == 0 && s->gives != DB_GIVES_ROWS);
}

/* --- change callbacks --- */

static void on_update(void *context, int operation UNUSED, const char *file UNUSED,
		      const char *table, sqlite3_int64 number)
{
	const struct db *db = context;

	db->change(db->change_context, table, number);
}

void db_watch(struct db *db, db_change_fn *change, void *context)
{
	db->change = change;
	db->change_context = context;
	(void)sqlite3_update_hook(db->file, change ? on_update : NULL, db);
}

/* --- life cycle --- */

static int prepare(struct db *db, int statement, struct err *err)
{
	const struct db_statement *s = &db_statements[statement];

	if (sqlite3_prepare_v3(db->file, s->text, -1, SQLITE_PREPARE_PERSISTENT,
			       &db->prepared[statement], NULL) == SQLITE_OK)
		return 0;
	/* The version is ours but the tables are not. */
	if ((sqlite3_extended_errcode(db->file) & 0xff) == SQLITE_ERROR)
		return err_set(err, EINVAL,
			       "is corrupt: %s: restore a copy, or move it away to start over",
			       sqlite3_errmsg(db->file));
	return db_sqlite_fail(db->file, s->text, err);
}

int db_sqlite_new(sqlite3 *file, struct db **ret_db, struct err *err)
{
	struct db *db = xcalloc(1, sizeof(*db));
	int i, r = 0;

	db->file = file;
	for (i = 0; r == 0 && i < DB_STATEMENTS; i++)
		r = prepare(db, i, err);
	if (r == 0)
		*ret_db = db;
	else
		db_sqlite_free(db);
	return r;
}

void db_sqlite_free(struct db *db)
{
	int i;

	if (!db)
		return;
	for (i = 0; i < DB_STATEMENTS; i++)
		(void)sqlite3_finalize(db->prepared[i]);
	free(db);
}
