/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows out: what retention.h says may go goes, but never what is still needed.
 * Pages that become free are used again; the file itself does not shrink.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"

/* Reports of a host that are removed in one go. */
enum { FORGET_MAX = 16 };

/* Is there a row? */
static int exists(struct store *s, sqlite3_stmt *st, struct err *err)
{
	int r = store_step_row(s, st, "thin", err);

	(void)sqlite3_reset(st);
	return r;
}

/* A statement that only wants a number. */
static int run_for(struct store *s, enum statement which, int64_t id, struct err *err)
{
	sqlite3_stmt *st = store_statement(s, which);

	bind_int(st, 1, id);
	return store_step_done(s, st, "thin", err);
}

int store_thin_read(struct store *s, int64_t after, struct store_thin *ret_rows, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_THIN_REPORTS);
	int n = 0, r;

	bind_int(st, 1, after);
	bind_int(st, 2, STORE_THIN_MAX);
	while ((r = store_step_row(s, st, "read reports", err)) == 1) {
		struct store_thin *row = &ret_rows[n++];
		const char *profile = column_text(st, 3);

		*row = (struct store_thin){
			.id = sqlite3_column_int64(st, 0),
			.node = sqlite3_column_int64(st, 1),
			.seen_us = (uint64_t)sqlite3_column_int64(st, 2),
			.level = sqlite3_column_int(st, 4),
			.body_bytes = (uint64_t)sqlite3_column_int64(st, 5),
		};
		(void)snprintf(row->profile, sizeof(row->profile), "%s", profile ? profile : "");
	}
	return r < 0 ? r : n;
}

/* Does anything still need this report as it is? */
static int needed(struct store *s, const struct store_thin *row, struct err *err)
{
	sqlite3_stmt *st = store_statement(s, SQL_THIN_NEWEST);
	int r;

	bind_int(st, 1, row->node);
	bind_int(st, 2, row->id);
	r = exists(s, st, err);
	if (r != 0 || row->level == VERDICT_PASS)
		return r;
	st = store_statement(s, SQL_THIN_EVIDENCE);
	bind_int(st, 1, row->node);
	bind_int(st, 2, row->id);
	bind_int(st, 3, (int64_t)row->seen_us);
	return exists(s, st, err);
}

static int drop_items(struct store *s, int64_t report, int from, struct err *err)
{
	sqlite3_stmt *st = store_statement(s, SQL_THIN_ITEMS);

	bind_int(st, 1, report);
	bind_int(st, 2, from);
	return store_step_done(s, st, "thin", err);
}

static int drop_report(struct store *s, int64_t id, struct err *err)
{
	int r = drop_items(s, id, 0, err);

	return r == 0 ? run_for(s, SQL_THIN_REPORT, id, err) : r;
}

int store_thin(struct store *s, const struct store_thin *row, bool lean, struct err *err)
{
	int r = needed(s, row, err);

	if (r != 0)
		return MIN(r, 0);
	r = store_begin(s, err);
	if (r == 0 && lean)
		r = drop_items(s, row->id, STORE_LEAN_ITEMS_MAX, err);
	if (r == 0)
		r = lean ? run_for(s, SQL_THIN_BODY, row->id, err) : drop_report(s, row->id, err);
	return r < 0 ? r : 1;
}

int store_old_read(struct store *s, enum store_heap heap, int64_t after, uint64_t before_us,
		   struct store_old *ret_rows, struct err *err)
{
	static const enum statement queries[HEAP_LAST_] = {
		[HEAP_BOOTS] = SQL_THIN_BOOTS,
		[HEAP_INCIDENTS] = SQL_THIN_INCIDENTS,
		[HEAP_NODES] = SQL_THIN_NODES,
	};
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, queries[heap]);
	int n = 0, r;

	bind_int(st, 1, after);
	bind_int(st, 2, STORE_THIN_MAX);
	bind_int(st, 3, (int64_t)before_us);
	if (heap == HEAP_INCIDENTS) {
		bind_int(st, 4, STORE_INCIDENTS_MAX);
		bind_int(st, 5, STORE_INCIDENTS_NODE_MAX - 1);
	}
	while ((r = store_step_row(s, st, "read old rows", err)) == 1)
		ret_rows[n++] = (struct store_old){ sqlite3_column_int64(st, 0),
						    sqlite3_column_int(st, 1) == 1 };
	return r < 0 ? r : n;
}

int store_old_drop(struct store *s, enum store_heap heap, int64_t id, struct err *err)
{
	int r = store_begin(s, err);

	if (r < 0)
		return r;
	return run_for(s, heap == HEAP_BOOTS ? SQL_THIN_BOOT : SQL_THIN_INCIDENT, id, err);
}

/* Some of its oldest reports; how many. */
static int drop_some_reports(struct store *s, int64_t node, struct err *err)
{
	int64_t ids[FORGET_MAX];
	sqlite3_stmt *st = store_statement(s, SQL_NODE_REPORTS);
	int n = 0, i, r;

	bind_int(st, 1, node);
	bind_int(st, 2, FORGET_MAX);
	while ((r = store_step_row(s, st, "read reports", err)) == 1)
		ids[n++] = sqlite3_column_int64(st, 0);
	(void)sqlite3_reset(st);
	for (i = 0; r == 0 && i < n; i++)
		r = drop_report(s, ids[i], err);
	return r < 0 ? r : n;
}

static int node_name(struct store *s, int64_t node, char **ret_name, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_NODE_NAME);
	int r;

	bind_int(st, 1, node);
	r = store_step_row(s, st, "read host", err);
	if (r == 1)
		*ret_name = xstrdup(column_text(st, 0));
	return r == 0 ? err_set(err, ENOENT, "store: no host has the number %" PRId64, node)
		      : MIN(r, 0);
}

/* Windows and incidents of which nothing was heard since `before_us`. */
static int end_findings(struct store *s, const char *name, uint64_t before_us, uint64_t now_us,
			struct err *err)
{
	sqlite3_stmt *st = store_statement(s, SQL_THIN_WINDOWS);
	int r;

	bind_text(st, 1, name);
	bind_int(st, 2, (int64_t)before_us);
	r = store_step_done(s, st, "thin windows", err);
	if (r < 0)
		return r;
	st = store_statement(s, SQL_THIN_CLOSE);
	bind_text(st, 1, name);
	bind_int(st, 2, (int64_t)before_us);
	bind_int(st, 3, (int64_t)now_us);
	return store_step_done(s, st, "close incidents", err);
}

static int trim_runs(struct store *s, int64_t node, int left, struct err *err)
{
	sqlite3_stmt *st = store_statement(s, SQL_THIN_RUNS);

	bind_int(st, 1, node);
	bind_int(st, 2, left);
	return store_step_done(s, st, "thin runs", err);
}

int store_forget(struct store *s, int64_t node, uint64_t now_us, char **ret_name, struct err *err)
{
	CLEANUP(freep) char *name = NULL;
	int r = store_begin(s, err);

	if (r == 0)
		r = drop_some_reports(s, node, err);
	if (r != 0)
		return MIN(r, 0);
	r = node_name(s, node, &name, err);
	if (r == 0)
		r = end_findings(s, name, INT64_MAX, now_us, err);
	if (r == 0)
		r = trim_runs(s, node, 0, err);
	if (r == 0)
		r = run_for(s, SQL_NODE_BOOTS, node, err);
	if (r == 0)
		r = run_for(s, SQL_THIN_NODE, node, err);
	if (r < 0)
		return r;
	*ret_name = TAKE(name);
	return 1;
}

int store_tidy(struct store *s, int64_t node, uint64_t before_us, uint64_t now_us, struct err *err)
{
	CLEANUP(freep) char *name = NULL;
	int r = node_name(s, node, &name, err);

	if (r == 0)
		r = store_begin(s, err);
	if (r == 0)
		r = trim_runs(s, node, STORE_PROFILES_MAX, err);
	return r == 0 ? end_findings(s, name, before_us, now_us, err) : r;
}

int store_mark(struct store *s, const char *name, uint64_t *ret_value, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_MARK_GET);
	int r;

	bind_text(st, 1, name);
	r = store_step_row(s, st, "read mark", err);
	if (r >= 0)
		*ret_value = r == 1 ? (uint64_t)sqlite3_column_int64(st, 0) : 0;
	return MIN(r, 0);
}

int store_put_mark(struct store *s, const char *name, uint64_t value, struct err *err)
{
	sqlite3_stmt *st = store_statement(s, SQL_MARK_PUT);
	int r = store_begin(s, err);

	bind_text(st, 1, name);
	bind_int(st, 2, (int64_t)value);
	return r == 0 ? store_step_done(s, st, "keep mark", err) : r;
}

int store_size(struct store *s, struct store_size *ret, struct err *err)
{
	static const enum statement queries[] = { SQL_PAGES, SQL_PAGES_FREE, SQL_PAGE_SIZE };
	uint64_t values[ARRAY_SIZE(queries)] = { 0 };
	size_t i;
	int r = 0;

	for (i = 0; r >= 0 && i < ARRAY_SIZE(queries); i++) {
		sqlite3_stmt *st = store_statement(s, queries[i]);

		r = store_step_row(s, st, "read size", err);
		if (r == 1)
			values[i] = (uint64_t)sqlite3_column_int64(st, 0);
		(void)sqlite3_reset(st);
	}
	if (r < 0)
		return r;
	ret->used = (values[0] - MIN(values[0], values[1])) * values[2];
	ret->free = values[1] * values[2];
	return 0;
}
