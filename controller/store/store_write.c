/* SPDX-License-Identifier: Apache-2.0 */
/* Reports in: one transaction gathers many of them. */
#include <errno.h>
#include <stdlib.h>

#include "controller/store/kept_list.h"
#include "controller/store/pack.h"
#include "controller/store/run_list.h"
#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"

/* A host as the writer sees it. */
struct known {
	int64_t id;   /* 0: not known */
	int64_t boot; /* of its newest report */
	int64_t seq;
};

static int find_node(struct store *s, const char *node, struct known *ret, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_NODE_FIND);
	int r;

	bind_text(st, 1, node);
	r = store_step_row(s, st, "find host", err);
	if (r == 1)
		*ret = (struct known){ sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1),
				       sqlite3_column_int64(st, 2) };
	return r < 0 ? r : 0;
}

static int find_boot(struct store *s, int64_t node, const char *boot_id, int64_t *ret_boot,
		     struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_BOOT_FIND);
	int r;

	bind_int(st, 1, node);
	bind_text(st, 2, boot_id);
	r = store_step_row(s, st, "find boot", err);
	if (r == 1)
		*ret_boot = sqlite3_column_int64(st, 0);
	return r < 0 ? r : 0;
}

static int find_report(struct store *s, int64_t boot, uint64_t seq, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_REPORT_FIND);

	bind_int(st, 1, boot);
	bind_int(st, 2, (int64_t)seq);
	return store_step_row(s, st, "find report", err);
}

int store_place(struct store *s, const struct report *report, struct err *err)
{
	struct known known = { 0 };
	int64_t boot = 0;
	int r = find_node(s, report->node, &known, err);

	if (r == 0 && known.id)
		r = find_boot(s, known.id, report->boot_id, &boot, err);
	if (r < 0)
		return r;
	/* A boot nobody has heard of is a new one: an agent sends in order. */
	if (!boot)
		return PLACE_NEWEST;
	r = find_report(s, boot, report->seq, err);
	if (r < 0)
		return r;
	if (r == 1)
		return PLACE_DUPLICATE;
	return boot == known.boot && (int64_t)report->seq > known.seq ? PLACE_NEWEST : PLACE_LATE;
}

int store_begin(struct store *s, struct err *err)
{
	int r;

	if (s->open_transaction)
		return 0;
	r = store_step_done(s, store_statement(s, SQL_BEGIN), "begin", err);
	s->open_transaction = r == 0;
	return r;
}

static int need_node(struct store *s, const struct store_report *in, int64_t *ret_node,
		     struct err *err)
{
	struct known known = { 0 };
	sqlite3_stmt *st;
	int r = find_node(s, in->report->node, &known, err);

	if (r == 0 && !known.id) {
		st = store_statement(s, SQL_NODE_ADD);
		bind_text(st, 1, in->report->node);
		bind_int(st, 2, (int64_t)in->seen_us);
		r = store_step_done(s, st, "add host", err);
		known.id = sqlite3_last_insert_rowid(s->db);
	}
	if (r == 0)
		*ret_node = known.id;
	return r;
}

static int need_boot(struct store *s, const struct store_report *in, int64_t node,
		     int64_t *ret_boot, struct err *err)
{
	const char *boot_id = in->report->boot_id;
	int64_t boot = 0;
	sqlite3_stmt *st;
	int r = find_boot(s, node, boot_id, &boot, err);

	if (r == 0 && !boot) {
		st = store_statement(s, SQL_BOOT_ADD);
		bind_int(st, 1, node);
		bind_text(st, 2, boot_id);
		bind_int(st, 3, (int64_t)in->seen_us);
		r = store_step_done(s, st, "add boot", err);
		boot = sqlite3_last_insert_rowid(s->db);
	}
	if (r == 0)
		*ret_boot = boot;
	return r;
}

static int add_report(struct store *s, const struct store_report *in, int64_t node, int64_t boot,
		      struct err *err)
{
	sqlite3_stmt *st = store_statement(s, SQL_REPORT_ADD);
	int r;

	bind_int(st, 1, boot);
	bind_int(st, 2, (int64_t)in->report->seq);
	bind_int(st, 3, node);
	bind_int(st, 4, (int64_t)in->seen_us);
	bind_text(st, 5, in->report->time);
	bind_text(st, 6, in->report->profile);
	bind_int(st, 7, in->verdict->level);
	bind_text(st, 8, in->verdict->sentence);
	bind_int(st, 9, in->body->coding);
	(void)sqlite3_bind_blob64(st, 10, in->body->bytes, in->body->length, SQLITE_STATIC);
	r = store_step_done(s, st, "add report", err);
	if (r == 0)
		s->last_report = MAX(s->last_report, (uint64_t)sqlite3_last_insert_rowid(s->db));
	return r;
}

static int add_items(struct store *s, const struct verdict *v, int64_t report, int64_t node,
		     struct err *err)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < MIN(v->n_items, (size_t)STORE_ITEMS_MAX); i++) {
		const struct verdict_item *item = &v->items[i];
		sqlite3_stmt *st;

		if (item->level == VERDICT_PASS)
			break; /* worst first */
		st = store_statement(s, SQL_ITEM_ADD);
		bind_int(st, 1, report);
		bind_int(st, 2, (int64_t)i);
		bind_int(st, 3, node);
		bind_text(st, 4, item->check);
		bind_text(st, 5, item->subject);
		bind_int(st, 6, item->level);
		bind_real(st, 7, item->value);
		bind_text(st, 8, item->unit);
		bind_real(st, 9, item->expected);
		bind_real(st, 10, item->floor);
		bind_int(st, 11, item->source);
		bind_int(st, 12, (int64_t)item->n);
		bind_int(st, 13, item->fatal);
		bind_text(st, 14, item->sentence);
		bind_text(st, 15, item->link);
		bind_int(st, 16, store_facts(item));
		r = store_step_done(s, st, "add item", err);
	}
	return r;
}

static int put_run(struct store *s, const struct store_report *in, int64_t report, int64_t node,
		   struct err *err)
{
	CLEANUP(freep) char *measured = run_list_encode(in->verdict);
	CLEANUP(freep) char *kept = kept_list_encode(in->kept, in->n_kept);
	sqlite3_stmt *st = store_statement(s, SQL_RUN_PUT);

	bind_int(st, 1, node);
	bind_text(st, 2, in->report->profile ? in->report->profile : "");
	bind_int(st, 3, report);
	bind_text(st, 4, in->report->time);
	bind_int(st, 5, in->verdict->level);
	bind_text(st, 6, measured);
	bind_text(st, 7, kept);
	return store_step_done(s, st, "keep run", err);
}

static int update_node(struct store *s, const struct store_report *in, int64_t node, int64_t boot,
		       struct err *err)
{
	const struct report *report = in->report;
	CLEANUP(freep) char *env = report->env ? json_dumps(report->env, JSON_COMPACT) : NULL;
	sqlite3_stmt *st = store_statement(s, SQL_NODE_UPDATE);

	bind_int(st, 1, node);
	bind_int(st, 2, boot);
	bind_int(st, 3, (int64_t)report->seq);
	bind_text(st, 4, report->time);
	bind_int(st, 5, (int64_t)in->seen_us);
	bind_text(st, 6, report->profile);
	bind_text(st, 7, report->agent);
	bind_text(st, 8, report->sku);
	bind_text(st, 9, report->topology);
	bind_text(st, 10, env ? env : "{}");
	bind_int(st, 11, in->merged->level);
	bind_text(st, 12, in->merged->sentence);
	return store_step_done(s, st, "update host", err);
}

int store_restate(struct store *s, const char *node, int level, const char *sentence,
		  struct err *err)
{
	sqlite3_stmt *st = store_statement(s, SQL_NODE_RESTATE);

	bind_text(st, 1, node);
	bind_int(st, 2, level);
	bind_text(st, 3, sentence);
	return store_step_done(s, st, "restate host", err);
}

static int add_all(struct store *s, const struct store_report *in, struct err *err)
{
	int64_t node = 0, boot = 0, id = 0;
	int r = store_begin(s, err);

	if (r == 0)
		r = need_node(s, in, &node, err);
	if (r == 0)
		r = need_boot(s, in, node, &boot, err);
	if (r == 0)
		r = add_report(s, in, node, boot, err);
	id = sqlite3_last_insert_rowid(s->db);
	if (r == 0)
		r = add_items(s, in->verdict, id, node, err);
	/* What was measured before the newest run makes nobody younger, nor does a test with others. */
	if (r < 0 || in->history)
		return r;
	r = put_run(s, in, id, node, err);
	return r == 0 ? update_node(s, in, node, boot, err) : r;
}

void store_take_back(struct store *s)
{
	if (s->open_transaction)
		(void)store_step_done(s, store_statement(s, SQL_ROLLBACK), "roll back", NULL);
	s->last_report = s->note.reports;
	s->open_transaction = false;
}

int store_add(struct store *s, const struct store_report *in, struct err *err)
{
	int r = add_all(s, in, err);

	if (r < 0)
		store_take_back(s);
	return r;
}

int store_commit(struct store *s, struct err *err)
{
	sqlite3_stmt *st = store_statement(s, SQL_SEAL);
	int r;

	if (!s->open_transaction)
		return 0;
	bind_int(st, 1, (int64_t)s->note.commits + 1);
	r = store_step_done(s, st, "count commits", err);
	if (r == 0)
		r = store_step_done(s, store_statement(s, SQL_COMMIT), "commit", err);
	if (r < 0) {
		store_take_back(s);
		return r;
	}
	s->open_transaction = false;
	s->note.commits++;
	s->note.reports = s->last_report;
	sums_commit(s->sums, &s->note);
	return 0;
}

bool store_dirty(const struct store *s)
{
	return s->open_transaction;
}
