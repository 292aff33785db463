/* SPDX-License-Identifier: Apache-2.0 */
/* What store*.c share: the open file and its prepared statements. */
#pragma once

#include <sqlite3.h>

#include "controller/store.h"

enum statement {
	SQL_BEGIN,
	SQL_COMMIT,
	SQL_ROLLBACK,
	SQL_NODE_FIND,
	SQL_NODE_ADD,
	SQL_NODE_UPDATE,
	SQL_NODE_SEEN,
	SQL_BOOT_FIND,
	SQL_BOOT_ADD,
	SQL_REPORT_FIND,
	SQL_REPORT_ADD,
	SQL_ITEM_ADD,
	SQL_RUN_PUT,
	SQL_RUNS,
	SQL_RUN_ITEMS,
	SQL_COUNT_NODES,
	SQL_COUNT_VERDICTS,
	SQL_NODES,
	SQL_NODE,
	SQL_REPORTS,
	SQL_BODIES,
	SQL_ENVS,
	SQL_WINDOWS,
	SQL_WINDOW_PUT,
	SQL_WINDOW_DROP,
	SQL_INCIDENT_UPDATE,
	SQL_INCIDENT_ADD,
	SQL_INCIDENT_CLOSE,
	SQL_INCIDENTS,
	SQL_INCIDENTS_OF_NODE,
	SQL_INCIDENT,
	SQL_COUNT_INCIDENTS,
	SQL_LAST_, /* not a statement: how many there are */
};

struct store {
	sqlite3 *db;
	sqlite3_stmt *statements[SQL_LAST_];
	bool open_transaction;
};

/* The statement, reset and without values. */
sqlite3_stmt *store_statement(struct store *s, enum statement which);

/* Reset when it leaves its scope, so that it holds no lock. */
static inline void statement_resetp(sqlite3_stmt **st)
{
	(void)sqlite3_reset(*st);
}

/* Set "store: what: words of SQLite"; returns the negative errno of the result. */
int store_fail(struct store *s, const char *what, struct err *err);

/* Step a statement that gives no rows, and reset it. */
int store_step_done(struct store *s, sqlite3_stmt *st, const char *what, struct err *err);

/* Step a query: 1 with a row, 0 at its end, or a negative errno. */
int store_step_row(struct store *s, sqlite3_stmt *st, const char *what, struct err *err);

/* Bind; parameters count from 1. Text is borrowed until the reset; NULL and NAN are NULL. */
void bind_text(sqlite3_stmt *st, int at, const char *text);
void bind_int(sqlite3_stmt *st, int at, int64_t value);
void bind_real(sqlite3_stmt *st, int at, double value);

/* Values as the API gives them. New references. */
json_t *column_json_text(sqlite3_stmt *st, int at);
json_t *column_json_stamp(sqlite3_stmt *st, int at); /* null for NULL */
json_t *column_json_level(sqlite3_stmt *st, int at);

/* A query whose rows become the items of a page; its limit is one more than the page's. */
struct listing {
	struct store *s;
	sqlite3_stmt *st;
	json_t *(*item)(sqlite3_stmt *st, uint64_t now_us);
	uint64_t now_us;
	size_t limit;
	int cursor_at; /* column that the next page begins after */
};

int store_read_page(const struct listing *list, struct store_page *ret, struct err *err);

/* A cursor that counts; the largest number when it says nothing. */
int64_t store_cursor_number(const struct store_range *range);

/* Columns count from 0. NULL is NULL, NAN. */
const char *column_text(sqlite3_stmt *st, int at);
double column_real(sqlite3_stmt *st, int at);
