/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps a database as text, to compare two of them. */
#include <stdio.h>
#include <stdlib.h>

#include <sqlite3.h>

#include "lib/base/macro.h"
#include "lib/base/xalloc.h"
#include "tests/fakes/crash_vfs.h"

static void closep(sqlite3 **db)
{
	(void)sqlite3_close(*db);
}

static void finalizep(sqlite3_stmt **st)
{
	(void)sqlite3_finalize(*st);
}

static void print_row(FILE *out, sqlite3_stmt *st)
{
	int i;

	for (i = 0; i < sqlite3_column_count(st); i++) {
		const void *text = sqlite3_column_text(st, i);

		(void)fprintf(out, "|%s", text ? (const char *)text : "NULL");
	}
	(void)fputc('\n', out);
}

static bool print_rows(FILE *out, sqlite3 *db, const char *sql)
{
	CLEANUP(finalizep) sqlite3_stmt *st = NULL;
	int r = sqlite3_prepare_v2(db, sql, -1, &st, NULL);

	if (r == SQLITE_OK)
		r = sqlite3_step(st);
	for (; r == SQLITE_ROW; r = sqlite3_step(st))
		print_row(out, st);
	return r == SQLITE_DONE;
}

/* Rows are in primary key order: SQLite scans a whole table along it. */
static bool print_tables(FILE *out, sqlite3 *db)
{
	static const char names[] = "SELECT name FROM sqlite_schema WHERE type = 'table'"
				    " AND name NOT LIKE 'sqlite%' AND name != 'seal'"
				    " ORDER BY name"; /* excluded: it counts the commits */
	CLEANUP(finalizep) sqlite3_stmt *st = NULL;
	bool good = sqlite3_prepare_v2(db, names, -1, &st, NULL) == SQLITE_OK;
	int r = good ? sqlite3_step(st) : SQLITE_ERROR;

	for (; good && r == SQLITE_ROW; r = sqlite3_step(st)) {
		const void *name = sqlite3_column_text(st, 0);
		CLEANUP(freep)
		char *sql = xasprintf("SELECT * FROM \"%s\"", (const char *)name);

		(void)fprintf(out, "%s\n", (const char *)name);
		good = print_rows(out, db, sql);
	}
	return good && r == SQLITE_DONE;
}

static bool open_alone(const char *path, sqlite3 **ret_db)
{
	return sqlite3_open_v2(path, ret_db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
	       sqlite3_db_config(*ret_db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) == SQLITE_OK &&
	       sqlite3_exec(*ret_db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL) ==
		       SQLITE_OK;
}

int crash_vfs_numbers(const char *path, const char *sql, size_t *ret_numbers, size_t max)
{
	CLEANUP(closep) sqlite3 *db = NULL;
	CLEANUP(finalizep) sqlite3_stmt *st = NULL;
	size_t n = 0;
	int r;

	if (!open_alone(path, &db) || sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		return -1;
	for (r = sqlite3_step(st); r == SQLITE_ROW && n < max; r = sqlite3_step(st))
		ret_numbers[n++] = (size_t)sqlite3_column_int64(st, 0);
	return r == SQLITE_DONE ? (int)n : -1;
}

char *crash_vfs_dump(const char *path)
{
	CLEANUP(closep) sqlite3 *db = NULL;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool good;

	if (!out)
		abort();
	good = open_alone(path, &db) &&
	       print_rows(out, db,
			  "SELECT * FROM pragma_integrity_check WHERE integrity_check != 'ok'") &&
	       print_tables(out, db);
	if (fclose(out) != 0 || !good) {
		free(text);
		return NULL;
	}
	return text;
}
