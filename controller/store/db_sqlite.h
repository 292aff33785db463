/* SPDX-License-Identifier: Apache-2.0 */
/* The database (db.h) as a file of SQLite. What is opened, copied and restored is store_open.c's. */
#pragma once

#include <sqlite3.h>

#include "controller/store/db.h"

/* Prepare every statement. -EINVAL: the file's tables are not those of this version. */
int db_sqlite_new(sqlite3 *file, struct db **ret_db, struct err *err);

/* Before its file is closed. NULL is nothing. */
void db_sqlite_free(struct db *db);

/* Set "store: what: words of SQLite"; returns the negative errno of its result. */
int db_sqlite_fail(sqlite3 *file, const char *what, struct err *err);
