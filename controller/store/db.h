/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database of the store: statements that are called by name, with named and typed values.
 * The statements are in sql/, a block each; sql/statements.awk makes structs of them, so that a
 * wrong name or a value of another type does not compile:
 *
 *	struct db_batch b = db_batch(db, err);
 *
 *	db_add(&b, boot_add, .node = node, .boot_id = id, .first_us = now_us);
 *	db_add(&b, mark_put, .name = "boots", .value = n);
 *	return db_end(&b);
 *
 * A batch is in order, and after the first statement that fails nothing more of it is run. It is no
 * transaction: "begin" and "commit" are statements. Rows come to a callback, one by one.
 *
 * SQLite (db_sqlite.h) is the one engine; it answers at once: what db_one() found and what the
 * callback of db_each() made of its rows is there when they return.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct db_bytes {
	const void *bytes;
	size_t length;
};

/* How a member of a struct is bound and read. 0 is NULL of those that may be NULL, NAN of reals. */
enum db_type { DB_INT, DB_UINT, DB_INT_OR_NULL, DB_UINT_OR_NULL, DB_REAL, DB_TEXT, DB_BYTES };

struct db_value {
	enum db_type type;
	size_t offset; /* in the struct of the parameters or of the row */
};

enum db_gives { DB_GIVES_ROWS, DB_GIVES_ID, DB_GIVES_CHANGES };

/* As statements.awk makes it. */
struct db_statement {
	const char *words; /* what it does, for an error */
	const char *text;
	const struct db_value *in;
	int n_in;
	const struct db_value *out;
	int n_out;
	enum db_gives gives; /* ID, CHANGES: its row is that one number */
};

/*
 * A row: a struct db_NAME_row, whose texts and bytes are borrowed until this returns. 0: go on;
 * 1: it is enough; a negative errno ends the batch with it, and then err is set.
 */
typedef int db_row_fn(void *context, const void *row);

struct db;

struct db_batch {
	struct db *db;
	struct err *err;
	int r; /* of the first that failed */
};

static inline struct db_batch db_batch(struct db *db, struct err *err)
{
	return (struct db_batch){ .db = db, .err = err };
}

/* 0, or the negative errno of the first that failed, with err set: "store: words: ...". */
static inline int db_end(const struct db_batch *b)
{
	return b->r;
}

/* What the macros below call; `in` is the struct of the statement. */
void db_ask(struct db_batch *b, int statement, const void *in, db_row_fn *each, void *context);
bool db_ask_one(struct db_batch *b, int statement, const void *in, void *ret_row);

/* A statement that gives no rows: db_add(&batch, NAME, .name = value, ...). */
#define db_add(batch, name, ...) \
	db_ask(batch, db_id_##name, &(struct db_##name){ .db_ = 0, __VA_ARGS__ }, NULL, NULL)

/* Call `each` for the rows. */
#define db_each(batch, name, each, context, ...) \
	db_ask(batch, db_id_##name, &(struct db_##name){ .db_ = 0, __VA_ARGS__ }, (each), (context))

/*
 * The first row, or the number that the statement gives, into *ret_row, a struct db_NAME_row.
 * False when there is none, which leaves it as it is. Not for rows with texts or bytes: these
 * would be gone.
 */
#define db_one(batch, name, ret_row, ...)                                             \
	db_ask_one(batch, db_id_##name, &(struct db_##name){ .db_ = 0, __VA_ARGS__ }, \
		   DB_PLAIN(name, ret_row))

/* The pointer, when it is to a row of the statement and the row has numbers alone. */
#define DB_PLAIN(name, ret_row)                                  \
	_Generic((char(*)[db_plain_##name ? 1 : 2])0, char(*)[1] \
		 : (struct db_##name##_row *){ ret_row })

/* The same, when only its being there counts. */
#define db_any(batch, name, ...) \
	db_ask_one(batch, db_id_##name, &(struct db_##name){ .db_ = 0, __VA_ARGS__ }, NULL)

/* Of a row that is written: its table, and its number there. Nothing may be asked of the database. */
typedef void db_change_fn(void *context, const char *table, int64_t number);

/*
 * Call `change` for each row that is added, changed or deleted from now on, of a table that
 * numbers its rows; also for one that is taken back later, though not when it is. NULL: for none.
 */
void db_watch(struct db *db, db_change_fn *change, void *context);
