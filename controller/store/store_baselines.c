/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of baselines and usuals: what is in their bytes is baseline_store.c's to know. */
#include "controller/store/store_sql.h"

int store_put_baseline(struct store *s, const char *key, const void *bytes, size_t length,
		       uint64_t saved_us, struct err *err)
{
	sqlite3_stmt *st = store_statement(s, SQL_BASELINE_PUT);
	int r = store_begin(s, err);

	bind_text(st, 1, key);
	bind_int(st, 2, (int64_t)saved_us);
	(void)sqlite3_bind_blob64(st, 3, bytes, length, SQLITE_STATIC);
	return r == 0 ? store_step_done(s, st, "keep baseline", err) : r;
}

static int drop(struct store *s, enum statement which, const char *key, const char *what,
		struct err *err)
{
	sqlite3_stmt *st = store_statement(s, which);
	int r = store_begin(s, err);

	bind_text(st, 1, key);
	return r == 0 ? store_step_done(s, st, what, err) : r;
}

int store_drop_baseline(struct store *s, const char *key, struct err *err)
{
	return drop(s, SQL_BASELINE_DROP, key, "drop baseline", err);
}

static struct store_body body_of(sqlite3_stmt *st, int column)
{
	return (struct store_body){
		.bytes = (void *)(uintptr_t)sqlite3_column_blob(st, column),
		.length = (size_t)sqlite3_column_bytes(st, column),
	};
}

int store_baselines(struct store *s, uint64_t since_us,
		    void (*each)(void *context, const char *key, const struct store_body *bytes,
				 uint64_t saved_us),
		    void *context, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_BASELINES);
	int r;

	bind_int(st, 1, (int64_t)since_us);
	while ((r = store_step_row(s, st, "read baselines", err)) == 1) {
		const struct store_body bytes = body_of(st, 1);

		each(context, column_text(st, 0), &bytes, (uint64_t)sqlite3_column_int64(st, 2));
	}
	return r;
}

int store_put_usuals(struct store *s, const char *key, const void *bytes, size_t length,
		     struct err *err)
{
	sqlite3_stmt *st = store_statement(s, SQL_USUALS_PUT);
	int r = store_begin(s, err);

	bind_text(st, 1, key);
	(void)sqlite3_bind_blob64(st, 2, bytes, length, SQLITE_STATIC);
	return r == 0 ? store_step_done(s, st, "keep usuals", err) : r;
}

int store_drop_usuals(struct store *s, const char *key, struct err *err)
{
	return drop(s, SQL_USUALS_DROP, key, "drop usuals", err);
}

int store_usuals(struct store *s, uint64_t since_us,
		 void (*each)(void *context, const char *key, const struct store_body *bytes),
		 void *context, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_USUALS);
	int r;

	bind_int(st, 1, (int64_t)since_us);
	while ((r = store_step_row(s, st, "read usuals", err)) == 1) {
		const struct store_body bytes = body_of(st, 1);

		each(context, column_text(st, 0), &bytes);
	}
	return r;
}
