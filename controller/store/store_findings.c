/* SPDX-License-Identifier: Apache-2.0 */
/* Windows and incidents: what the last runs of a host have added up to. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* --- windows --- */

void store_window_release(struct store_window *row)
{
	free(row->check);
	free(row->subject);
	free(row->locality);
	free(row->code);
	free(row->sentence);
}

int store_ran_before(struct store *s, const char *node, const char *profile, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_RUN_BEFORE);

	bind_text(st, 1, node);
	bind_text(st, 2, profile);
	return store_step_row(s, st, "find runs", err);
}

int store_windows(struct store *s, const char *node, struct store_window **ret_rows, size_t max,
		  struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_WINDOWS);
	struct store_window *rows = xrealloc(NULL, max, sizeof(*rows)); /* few are used */
	size_t n = 0;
	int r;

	bind_text(st, 1, node);
	bind_int(st, 2, (int64_t)max);
	while ((r = store_step_row(s, st, "read windows", err)) == 1 && n < max)
		rows[n++] = (struct store_window){
			.check = xstrdup(column_text(st, 0)),
			.subject = xstrdup(column_text(st, 1)),
			.windows = { (uint64_t)sqlite3_column_int64(st, 2),
				     (unsigned)sqlite3_column_int(st, 3) },
			.k = (unsigned)sqlite3_column_int(st, 4),
			.n = (unsigned)sqlite3_column_int(st, 5),
			.since_us = (uint64_t)sqlite3_column_int64(st, 6),
			.last_us = (uint64_t)sqlite3_column_int64(st, 7),
			.severity = sqlite3_column_int(st, 8),
			.source = sqlite3_column_int(st, 9),
			.born = sqlite3_column_int(st, 10) != 0,
			.parts_bad = (unsigned)sqlite3_column_int(st, 11),
			.parts = (unsigned)sqlite3_column_int(st, 12),
			.score = column_real(st, 13),
			.locality = xstrdup(column_text(st, 14)),
			.code = xstrdup(column_text(st, 15)),
			.sentence = xstrdup(column_text(st, 16)),
		};
	if (r >= 0) {
		*ret_rows = rows;
		return (int)n;
	}
	for (; n > 0; n--)
		store_window_release(&rows[n - 1]);
	free(rows);
	return r;
}

int store_put_window(struct store *s, const char *node, const struct store_window *row,
		     struct err *err)
{
	sqlite3_stmt *st = store_statement(s, SQL_WINDOW_PUT);

	bind_text(st, 1, node);
	bind_text(st, 2, row->check);
	bind_text(st, 3, row->subject);
	bind_int(st, 4, (int64_t)row->windows.bits);
	bind_int(st, 5, row->windows.n);
	bind_int(st, 6, row->k);
	bind_int(st, 7, row->n);
	bind_int(st, 8, (int64_t)row->since_us);
	bind_int(st, 9, (int64_t)row->last_us);
	bind_int(st, 10, row->severity);
	bind_int(st, 11, row->source);
	bind_int(st, 12, row->born);
	bind_int(st, 13, row->parts_bad);
	bind_int(st, 14, row->parts);
	bind_real(st, 15, row->score);
	bind_text(st, 16, row->locality);
	bind_text(st, 17, row->code);
	bind_text(st, 18, row->sentence);
	return store_step_done(s, st, "keep window", err);
}

int store_drop_window(struct store *s, const char *node, const struct store_window *row,
		      struct err *err)
{
	sqlite3_stmt *st = store_statement(s, SQL_WINDOW_DROP);

	bind_text(st, 1, node);
	bind_text(st, 2, row->check);
	bind_text(st, 3, row->subject);
	return store_step_done(s, st, "drop window", err);
}

static void add_window(json_t *item, const struct store_window *row)
{
	CLEANUP(freep) char *clears = windows_clear_words(&row->windows, row->n);
	unsigned of = MIN(row->n, row->windows.n);
	char since[CLOCK_STAMP_SIZE];

	clock_stamp(row->since_us, since);
	(void)json_object_set_new(item, "windows",
				  json_pack("{s:i, s:i, s:i, s:i, s:s, s:s}", "bad",
					    (int)windows_bad(&row->windows, MAX(of, 1U)), "of",
					    (int)of, "k", (int)row->k, "n", (int)row->n, "since",
					    since, "clears", clears));
}

enum { ROWS_MAX = 256 };

int store_add_windows(struct store *s, const char *node, json_t *items, struct err *err)
{
	struct store_window *rows = NULL;
	int n = store_windows(s, node, &rows, ROWS_MAX, err), i;
	size_t j;

	for (i = 0; i < n; i++) {
		for (j = 0; j < json_array_size(items); j++) {
			json_t *item = json_array_get(items, j);

			if (streq(json_string_value(json_object_get(item, "check")),
				  rows[i].check) &&
			    streq(json_string_value(json_object_get(item, "subject")),
				  rows[i].subject))
				add_window(item, &rows[i]);
		}
		store_window_release(&rows[i]);
	}
	free(rows);
	return MIN(n, 0);
}

/* --- reports that say so --- */

static json_t *bad_report_of_row(sqlite3_stmt *st, uint64_t now_us)
{
	bool measured = sqlite3_column_type(st, 7) != SQLITE_NULL;

	(void)now_us;
	return json_pack("{s:o, s:I, s:o, s:o, s:o, s:o, s:o}", "boot_id", column_json_text(st, 1),
			 "seq", (json_int_t)sqlite3_column_int64(st, 2), "time",
			 column_json_text(st, 3), "seen", column_json_stamp(st, 4), "profile",
			 column_json_text(st, 5), "verdict", column_json_level(st, 6), "value",
			 measured ? json_real(sqlite3_column_double(st, 7)) : json_null());
}

int store_add_reports(struct store *s, const char *node, json_t *items, struct err *err)
{
	size_t n = MIN(json_array_size(items), (size_t)STORE_PROOF_ITEMS), i;
	int r = 0;

	for (i = 0; r == 0 && i < n; i++) {
		json_t *item = json_array_get(items, i);
		struct listing list = { s,
					store_statement(s, SQL_BAD_REPORTS),
					bad_report_of_row,
					0,
					STORE_PROOF_REPORTS,
					0 };
		struct store_page page = { 0 };

		bind_text(list.st, 1, node);
		bind_text(list.st, 2, json_string_value(json_object_get(item, "check")));
		bind_text(list.st, 3, json_string_value(json_object_get(item, "subject")));
		bind_int(list.st, 4, STORE_PROOF_WITHIN);
		bind_int(list.st, 5, STORE_PROOF_REPORTS);
		r = store_read_page(&list, &page, err);
		if (r == 0)
			(void)json_object_set_new(item, "reports", page.items);
	}
	return r;
}

/* --- incidents --- */

static void bind_incident(sqlite3_stmt *st, const struct store_incident *i, uint64_t now_us)
{
	bind_text(st, 1, i->node);
	bind_text(st, 2, i->check);
	bind_text(st, 3, i->subject);
	bind_int(st, 4, i->level);
	bind_int(st, 5, i->fatal);
	bind_text(st, 6, i->rule);
	bind_text(st, 7, i->action);
	bind_text(st, 8, i->sentence);
	bind_int(st, 9, (int64_t)now_us);
}

int store_put_incident(struct store *s, const struct store_incident *incident, uint64_t now_us,
		       struct err *err)
{
	sqlite3_stmt *st = store_statement(s, SQL_INCIDENT_UPDATE);
	int r;

	s->incident_changes++;
	bind_incident(st, incident, now_us);
	r = store_step_done(s, st, "update incident", err);
	if (r < 0 || sqlite3_changes(s->db) > 0)
		return r;
	st = store_statement(s, SQL_INCIDENT_ADD);
	bind_incident(st, incident, now_us);
	bind_int(st, 10, (int64_t)MIN(incident->since_us, now_us));
	return store_step_done(s, st, "open incident", err);
}

int store_close_incident(struct store *s, const char *node, const char *check, uint64_t now_us,
			 struct err *err)
{
	sqlite3_stmt *st = store_statement(s, SQL_INCIDENT_CLOSE);

	s->incident_changes++;
	bind_text(st, 1, node);
	bind_text(st, 2, check);
	bind_int(st, 3, (int64_t)now_us);
	return store_step_done(s, st, "close incident", err);
}

static int forget(struct store *s, const char *node, enum statement runs, uint64_t now_us,
		  struct err *err)
{
	const enum statement statements[] = { SQL_INCIDENTS_CLOSE, SQL_WINDOWS_DROP, runs };
	size_t i;
	int r = 0;

	s->incident_changes++;
	for (i = 0; r == 0 && i < ARRAY_SIZE(statements); i++) {
		sqlite3_stmt *st = store_statement(s, statements[i]);

		bind_text(st, 1, node);
		if (statements[i] == SQL_INCIDENTS_CLOSE)
			bind_int(st, 2, (int64_t)now_us);
		r = store_step_done(s, st, "forget host", err);
	}
	return r;
}

int store_begin_anew(struct store *s, const char *node, uint64_t now_us, struct err *err)
{
	return forget(s, node, SQL_RUNS_DROP, now_us, err);
}

int store_begin_repaired(struct store *s, const char *node, uint64_t now_us, struct err *err)
{
	return forget(s, node, SQL_RUNS_DROP_ALL, now_us, err);
}

static json_t *incident_of_row(sqlite3_stmt *st, uint64_t now_us)
{
	bool open = sqlite3_column_type(st, 11) == SQLITE_NULL;

	(void)now_us;
	return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "id",
			 json_sprintf("%" PRId64, (int64_t)sqlite3_column_int64(st, 0)), "state",
			 open ? "open" : "closed", "node", column_json_text(st, 1), "check",
			 column_json_text(st, 2), "subject", column_json_text(st, 3), "verdict",
			 column_json_level(st, 4), "fatal", sqlite3_column_int(st, 5), "rule",
			 column_json_text(st, 6), "action", column_json_text(st, 7), "sentence",
			 column_json_text(st, 8), "opened", column_json_stamp(st, 9), "last",
			 column_json_stamp(st, 10), "closed", column_json_stamp(st, 11));
}

int store_incidents(struct store *s, const struct store_range *range, bool open_only,
		    struct store_page *ret, struct err *err)
{
	struct listing list = {
		s, store_statement(s, SQL_INCIDENTS), incident_of_row, 0, range->limit, 0
	};

	bind_int(list.st, 1, store_cursor_number(range));
	bind_int(list.st, 2, open_only);
	bind_int(list.st, 3, (int64_t)range->limit + 1);
	return store_read_page(&list, ret, err);
}

int store_open_incidents(struct store *s, const char *node, json_t **ret_items, struct err *err)
{
	struct listing list = {
		s, store_statement(s, SQL_INCIDENTS_OF_NODE), incident_of_row, 0, SIZE_MAX, 0
	};
	struct store_page page = { 0 };
	int r;

	bind_text(list.st, 1, node);
	r = store_read_page(&list, &page, err);
	if (r == 0)
		*ret_items = page.items;
	return r;
}

int store_incident(struct store *s, int64_t id, json_t **ret_incident, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_INCIDENT);
	int r;

	bind_int(st, 1, id);
	r = store_step_row(s, st, "read incident", err);
	if (r == 0)
		return err_set(err, ENOENT, "there is no incident %" PRId64, id);
	if (r == 1)
		*ret_incident = incident_of_row(st, 0);
	return r < 0 ? r : 0;
}

int store_count_incidents(struct store *s, uint64_t *ret_count, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_COUNT_INCIDENTS);
	int r = store_step_row(s, st, "count incidents", err);

	if (r == 1)
		*ret_count = (uint64_t)sqlite3_column_int64(st, 0);
	return r < 0 ? r : 0;
}
