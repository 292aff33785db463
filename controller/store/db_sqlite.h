/* SPDX-License-Identifier: Apache-2.0 */
/* The database (db.h) on an SQLite file. Opening, copying and restoring is in store_open.c. */
#pragma once

#include <sqlite3.h>

#include "controller/store/db.h"

/* Prepare all statements. Returns -EINVAL if the file's tables are not those of this version. */
int db_sqlite_new(sqlite3 *file, struct db **ret_db, struct err *err);

/* Call it before closing the file. NULL is allowed. */
void db_sqlite_free(struct db *db);

/* Set err to "store: what: message of SQLite"; returns the negative errno for it. */
int db_sqlite_fail(sqlite3 *file, const char *what, struct err *err);
