/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletes rows that retention.h releases, but never what is still needed. Free pages are reused;
 * the file itself does not shrink.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/store/sql/statements.h"
#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"

/* Reports of a host deleted per call. */
enum { FORGET_MAX = 16 };

struct thin_reader {
	struct store_thin *rows;
	int n;
};

static int read_thin(void *context, const void *p)
{
	const struct db_thin_reports_row *row = p;
	struct thin_reader *reader = context;
	struct store_thin *ret = &reader->rows[reader->n++];

	*ret = (struct store_thin){
		.id = row->id,
		.node = row->node,
		.seen_us = row->seen_us,
		.level = (int)row->verdict,
		.body_bytes = row->bytes,
	};
	(void)snprintf(ret->profile, sizeof(ret->profile), "%s", row->profile ? row->profile : "");
	return 0;
}

int store_thin_read(struct store *s, int64_t after, struct store_thin *ret_rows, struct err *err)
{
	struct thin_reader reader = { ret_rows, 0 };
	struct db_batch b = store_ask(s, err);

	db_each(&b, thin_reports, read_thin, &reader, .after = after, .limit = STORE_THIN_MAX);
	return db_end(&b) < 0 ? db_end(&b) : reader.n;
}

/* Is this report still needed as it is? */
static bool needed(struct db_batch *b, const struct store_thin *row)
{
	if (db_any(b, thin_newest, .node = row->node, .report = row->id))
		return true;
	return row->level != VERDICT_PASS && db_any(b, thin_evidence, .node = row->node,
						    .report = row->id, .seen_us = row->seen_us);
}

static void drop_report(struct db_batch *b, int64_t id)
{
	db_add(b, thin_items, .report = id, .nth = 0);
	db_add(b, thin_report, .report = id);
}

int store_thin(struct store *s, const struct store_thin *row, bool lean, struct err *err)
{
	struct db_batch b = store_ask(s, err);

	if (needed(&b, row) || db_end(&b) < 0)
		return db_end(&b);
	b = store_write(s, err);
	if (lean) {
		db_add(&b, thin_items, .report = row->id, .nth = STORE_LEAN_ITEMS_MAX);
		db_add(&b, thin_body, .report = row->id);
	} else {
		drop_report(&b, row->id);
	}
	return db_end(&b) < 0 ? db_end(&b) : 1;
}

struct old_reader {
	struct store_old *rows;
	int n;
};

static int read_old(void *context, const void *p)
{
	const struct db_thin_boots_row *row = p;
	struct old_reader *reader = context;

	reader->rows[reader->n++] = (struct store_old){ row->id, row->old == 1 };
	return 0;
}

int store_old_read(struct store *s, enum store_heap heap, int64_t after, uint64_t before_us,
		   struct store_old *ret_rows, struct err *err)
{
	struct old_reader reader = { ret_rows, 0 };
	struct db_batch b = store_ask(s, err);

	if (heap == HEAP_BOOTS)
		db_each(&b, thin_boots, read_old, &reader, .after = after, .limit = STORE_THIN_MAX,
			.before_us = before_us);
	else if (heap == HEAP_NODES)
		db_each(&b, thin_nodes, read_old, &reader, .after = after, .limit = STORE_THIN_MAX,
			.before_us = before_us);
	else
		db_each(&b, thin_incidents, read_old, &reader, .after = after,
			.limit = STORE_THIN_MAX, .before_us = before_us,
			.kept = STORE_INCIDENTS_MAX, .kept_of_node = STORE_INCIDENTS_NODE_MAX - 1);
	return db_end(&b) < 0 ? db_end(&b) : reader.n;
}

int store_old_drop(struct store *s, enum store_heap heap, int64_t id, struct err *err)
{
	struct db_batch b = store_write(s, err);

	if (heap == HEAP_BOOTS)
		db_add(&b, thin_boot, .id = id);
	else
		db_add(&b, thin_incident, .id = id);
	return db_end(&b);
}

struct some_reports {
	int64_t ids[FORGET_MAX];
	int n;
};

static int read_id(void *context, const void *p)
{
	const struct db_node_reports_row *row = p;
	struct some_reports *some = context;

	some->ids[some->n++] = row->id;
	return 0;
}

/* Delete some of its oldest reports. Returns how many. */
static int drop_some_reports(struct db_batch *b, int64_t node)
{
	struct some_reports some = { .n = 0 };
	int i;

	db_each(b, node_reports, read_id, &some, .node = node, .limit = FORGET_MAX);
	for (i = 0; i < some.n; i++)
		drop_report(b, some.ids[i]);
	return some.n;
}

static int take_name(void *context, const void *p)
{
	const struct db_node_name_row *row = p;
	char **ret = context;

	*ret = xstrdup(row->node);
	return 1;
}

static int node_name(struct store *s, int64_t node, char **ret_name, struct err *err)
{
	struct db_batch b = store_ask(s, err);

	db_each(&b, node_name, take_name, ret_name, .id = node);
	if (db_end(&b) == 0 && !*ret_name)
		return err_set(err, ENOENT, "store: no host has the number %" PRId64, node);
	return db_end(&b);
}

/* End windows and incidents without data since `before_us`. */
static void end_findings(struct db_batch *b, const char *name, uint64_t before_us, uint64_t now_us)
{
	db_add(b, thin_windows, .node = name, .before_us = before_us);
	db_add(b, thin_close, .node = name, .before_us = before_us, .now_us = now_us);
}

int store_forget(struct store *s, int64_t node, uint64_t now_us, char **ret_name, struct err *err)
{
	CLEANUP(freep) char *name = NULL;
	struct db_batch b = store_write(s, err);
	int r;

	if (drop_some_reports(&b, node) > 0 || db_end(&b) < 0)
		return db_end(&b);
	r = node_name(s, node, &name, err);
	if (r < 0)
		return r;
	end_findings(&b, name, INT64_MAX, now_us);
	db_add(&b, thin_runs, .node = node, .kept = 0);
	db_add(&b, node_boots, .node = node);
	db_add(&b, part_names_drop, .node = name);
	db_add(&b, thin_node, .id = node);
	if (db_end(&b) < 0)
		return db_end(&b);
	*ret_name = TAKE(name);
	return 1;
}

int store_tidy(struct store *s, int64_t node, uint64_t before_us, uint64_t now_us, struct err *err)
{
	CLEANUP(freep) char *name = NULL;
	struct db_batch b;
	int r = node_name(s, node, &name, err);

	if (r < 0)
		return r;
	b = store_write(s, err);
	db_add(&b, thin_runs, .node = node, .kept = STORE_PROFILES_MAX);
	end_findings(&b, name, before_us, now_us);
	return db_end(&b);
}
