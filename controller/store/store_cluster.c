/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_cluster.h"

#include <errno.h>

#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

int store_put_cluster_node(struct store *s, const struct store_cluster_node *row, struct err *err)
{
	sqlite3_stmt *st;
	int r = store_begin(s, err);

	if (r < 0)
		return r;
	st = store_statement(s, SQL_CLUSTER_NODE_PUT);
	bind_text(st, 1, row->node);
	bind_text(st, 2, row->uid);
	bind_int(st, 3, (int64_t)row->version);
	bind_int(st, 4, row->unschedulable);
	bind_text(st, 5, row->mark);
	bind_int(st, 6, (int64_t)row->override_us);
	bind_text(st, 7, row->hold);
	bind_text(st, 8, row->condition);
	return store_step_done(s, st, "keep node of the cluster", err);
}

int store_drop_cluster_node(struct store *s, const char *node, struct err *err)
{
	sqlite3_stmt *st;
	int r = store_begin(s, err);

	if (r < 0)
		return r;
	st = store_statement(s, SQL_CLUSTER_NODE_DROP);
	bind_text(st, 1, node);
	return store_step_done(s, st, "drop node of the cluster", err);
}

int store_cluster_nodes(struct store *s,
			void (*each)(void *context, const struct store_cluster_node *row),
			void *context, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_CLUSTER_NODES);
	int r;

	while ((r = store_step_row(s, st, "read nodes of the cluster", err)) == 1) {
		const struct store_cluster_node row = {
			.node = column_text(st, 0),
			.uid = column_text(st, 1),
			.version = (uint64_t)sqlite3_column_int64(st, 2),
			.unschedulable = sqlite3_column_int(st, 3) != 0,
			.mark = column_text(st, 4),
			.override_us = (uint64_t)sqlite3_column_int64(st, 5),
			.hold = column_text(st, 6),
			.condition = column_text(st, 7),
		};

		each(context, &row);
	}
	return r;
}

int store_ledger(struct store *s, uint64_t *ret_version, char **ret_text, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_LEDGER_GET);
	int r = store_step_row(s, st, "read the ledger", err);

	if (r == 0)
		return err_set(err, ENOENT, "there is no ledger yet");
	if (r < 0)
		return r;
	*ret_version = (uint64_t)sqlite3_column_int64(st, 0);
	*ret_text = xstrdup(column_text(st, 1));
	return 0;
}

int store_put_ledger(struct store *s, uint64_t version, const char *text, struct err *err)
{
	CLEANUP(freep) char *before = NULL;
	uint64_t now = 0;
	sqlite3_stmt *st;
	int r = store_begin(s, err);

	if (r == 0)
		r = store_ledger(s, &now, &before, err);
	if (r < 0 && r != -ENOENT)
		return r;
	if (now != version)
		return err_set(err, ESTALE, "the ledger was changed meanwhile");
	st = store_statement(s, SQL_LEDGER_PUT);
	bind_int(st, 1, (int64_t)version + 1);
	bind_text(st, 2, text);
	return store_step_done(s, st, "keep the ledger", err);
}

int store_add_event(struct store *s, const char *node, bool warning, const char *reason,
		    const char *message, uint64_t at_us, struct err *err)
{
	sqlite3_stmt *st;
	int r = store_begin(s, err);

	if (r < 0)
		return r;
	st = store_statement(s, SQL_EVENT_ADD);
	bind_text(st, 1, node);
	bind_int(st, 2, (int64_t)at_us);
	bind_int(st, 3, warning);
	bind_text(st, 4, reason);
	bind_text(st, 5, message);
	r = store_step_done(s, st, "keep event", err);
	if (r < 0)
		return r;
	st = store_statement(s, SQL_EVENTS_DROP);
	bind_int(st, 1, STORE_EVENTS_MAX);
	return store_step_done(s, st, "drop events", err);
}
