/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of baselines: what is in their bytes is baseline_store.c's to know. */
#include "controller/store_sql.h"

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

int store_drop_baseline(struct store *s, const char *key, struct err *err)
{
	sqlite3_stmt *st = store_statement(s, SQL_BASELINE_DROP);
	int r = store_begin(s, err);

	bind_text(st, 1, key);
	return r == 0 ? store_step_done(s, st, "drop baseline", err) : r;
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
		const struct store_body bytes = {
			.bytes = (void *)(uintptr_t)sqlite3_column_blob(st, 1),
			.length = (size_t)sqlite3_column_bytes(st, 1),
		};

		each(context, column_text(st, 0), &bytes, (uint64_t)sqlite3_column_int64(st, 2));
	}
	return r;
}
