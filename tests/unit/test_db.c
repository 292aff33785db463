/* SPDX-License-Identifier: Apache-2.0 */
/* Statements by name, on a store of this version. */
#include "controller/store/db.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "controller/store/sql/statements.h"
#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

static struct store *open_store(void)
{
	CLEANUP(freep) char *path = xasprintf("%s/db.db", test_dir());
	struct store *s = NULL;

	CHECK_EQ(store_open(path, &s, NULL), 0);
	return s;
}

/* What SQLite declares a column as, by enum db_type. */
static const char *const declared[] = {
	[DB_INT] = "INTEGER",	       [DB_UINT] = "INTEGER", [DB_INT_OR_NULL] = "INTEGER",
	[DB_UINT_OR_NULL] = "INTEGER", [DB_REAL] = "REAL",    [DB_TEXT] = "TEXT",
	[DB_BYTES] = "BLOB",
};

static void every_statement_has_the_parameters_and_columns_that_are_said(void)
{
	CLEANUP(store_closep) struct store *s = open_store();
	size_t columns = 0;
	int i, k;

	for (i = 0; i < DB_STATEMENTS; i++) {
		const struct db_statement *st = &db_statements[i];
		sqlite3_stmt *prepared = NULL;

		CHECK_EQ(sqlite3_prepare_v2(s->file, st->text, -1, &prepared, NULL), SQLITE_OK);
		CHECK_EQ(sqlite3_bind_parameter_count(prepared), st->n_in);
		CHECK_EQ(sqlite3_column_count(prepared), st->n_out);
		for (k = 0; k < st->n_out; k++) {
			/* An expression has no declared type. */
			const char *type = sqlite3_column_decltype(prepared, k);

			if (type && !streq(type, declared[st->out[k].type]))
				CU_FAIL(st->text);
			columns += type != NULL;
		}
		CHECK_EQ(sqlite3_finalize(prepared), SQLITE_OK);
	}
	CHECK(columns > 100);
}

static int take_window(void *context, const void *p)
{
	const struct db_windows_row *row = p;
	struct db_windows_row *ret = context;

	*ret = *row;
	CHECK(streq(row->check_name, "gemm.rate") && streq(row->subject, "gpu:0"));
	CHECK(!row->class && streq(row->code, ""));
	ret->check_name = ret->subject = ret->code = ret->sentence = NULL;
	return 0;
}

static void values_come_back_as_they_went(void)
{
	CLEANUP(store_closep) struct store *s = open_store();
	struct db_windows_row row = { 0 };
	struct db_batch b = store_write(s, NULL);
	const uint64_t most = UINT64_MAX;

	db_add(&b, window_put, .node = "gpu-1", .check_name = "gemm.rate", .subject = "gpu:0",
	       .bits = most, .seen = 3, .severity = -1, .score = 0.25, .code = "");
	db_each(&b, windows, take_window, &row, .node = "gpu-1", .limit = 2);
	CHECK_EQ(db_end(&b), 0);
	CHECK_EQ(row.bits, most);
	CHECK_EQ(row.seen, 3);
	CHECK_EQ(row.severity, -1);
	CHECK_NEAR(row.score, 0.25, 0);

	db_add(&b, window_put, .node = "gpu-1", .check_name = "gemm.rate", .subject = "gpu:0",
	       .score = NAN, .code = "");
	db_each(&b, windows, take_window, &row, .node = "gpu-1", .limit = 2);
	CHECK(isnan(row.score));
}

static int count_to_two(void *context, const void *row)
{
	int *n = context;

	(void)row;
	return ++*n == 2;
}

static int refuse(void *context, const void *row)
{
	(void)context;
	(void)row;
	return -ECANCELED;
}

static void a_batch_ends_with_what_failed_first(void)
{
	CLEANUP(store_closep) struct store *s = open_store();
	struct err err = ERR_INIT;
	struct db_batch b = store_write(s, &err);
	struct db_mark_get_row mark = { 7 };
	int n = 0;

	db_add(&b, mark_put, .name = "a", .value = 1);
	db_add(&b, mark_put, .name = NULL, .value = 2); /* NOT NULL */
	db_add(&b, mark_put, .name = "c", .value = 3);
	CHECK_EQ(db_end(&b), -EEXIST);
	CHECK(strstr(err.msg, "store: keep mark: "));

	b = store_ask(s, NULL);
	CHECK(!db_one(&b, mark_get, &mark, .name = "c"));
	CHECK_EQ(mark.value, 7);
	CHECK(db_one(&b, mark_get, &mark, .name = "a"));
	CHECK_EQ(mark.value, 1);
	CHECK_EQ(db_end(&b), 0);

	/* A callback may have enough, or fail. */
	b = store_write(s, NULL);
	db_add(&b, part_put, .serial = "1", .cordons = "[]");
	db_add(&b, part_put, .serial = "2", .cordons = "[]");
	db_add(&b, part_put, .serial = "3", .cordons = "[]");
	db_each(&b, parts, count_to_two, &n);
	CHECK_EQ(n, 2);
	CHECK_EQ(db_end(&b), 0);
	db_each(&b, parts, refuse, NULL);
	CHECK_EQ(db_end(&b), -ECANCELED);
}

static void what_a_statement_gives_is_its_row(void)
{
	CLEANUP(store_closep) struct store *s = open_store();
	struct db_batch b = store_write(s, NULL);
	struct db_boot_add_row first = { 0 }, second = { 0 };
	struct db_incident_update_row updated = { 9 };

	CHECK(db_one(&b, boot_add, &first, .node = 1, .boot_id = "x", .first_us = 5));
	CHECK(db_one(&b, boot_add, &second, .node = 1, .boot_id = "y", .first_us = 5));
	CHECK_EQ(second.id, first.id + 1);
	CHECK(db_one(&b, incident_update, &updated, .node = "nobody", .check_name = "a"));
	CHECK_EQ(updated.changes, 0);
	CHECK_EQ(db_end(&b), 0);
}

static const struct test tests[] = {
	TEST(every_statement_has_the_parameters_and_columns_that_are_said),
	TEST(values_come_back_as_they_went),
	TEST(a_batch_ends_with_what_failed_first),
	TEST(what_a_statement_gives_is_its_row),
};

TEST_SUITE(tests);
