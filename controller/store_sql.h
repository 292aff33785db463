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

/* Columns count from 0. NULL is NULL, NAN. */
const char *column_text(sqlite3_stmt *st, int at);
double column_real(sqlite3_stmt *st, int at);
