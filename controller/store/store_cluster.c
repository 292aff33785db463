/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_cluster.h"

#include <errno.h>

#include "controller/store/sql/statements.h"
#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

int store_put_cluster_node(struct store *s, const struct store_cluster_node *row, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, cluster_node_put, .node = row->node, .uid = row->uid, .version = row->version,
	       .unschedulable = row->unschedulable, .mark = row->mark,
	       .override_us = row->override_us, .hold = row->hold, .condition = row->condition);
	return db_end(&b);
}

int store_drop_cluster_node(struct store *s, const char *node, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, cluster_node_drop, .node = node);
	return db_end(&b);
}

struct node_reader {
	void (*each)(void *context, const struct store_cluster_node *row);
	void *context;
};

static int read_node(void *context, const void *p)
{
	const struct node_reader *reader = context;
	const struct db_cluster_nodes_row *row = p;
	const struct store_cluster_node node = {
		.node = row->node,
		.uid = row->uid,
		.version = row->version,
		.unschedulable = row->unschedulable != 0,
		.mark = row->mark,
		.override_us = row->override_us,
		.hold = row->hold,
		.condition = row->condition,
	};

	reader->each(reader->context, &node);
	return 0;
}

int store_cluster_nodes(struct store *s,
			void (*each)(void *context, const struct store_cluster_node *row),
			void *context, struct err *err)
{
	struct node_reader reader = { each, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, cluster_nodes, read_node, &reader);
	return db_end(&b);
}

struct ledger {
	uint64_t version;
	char *text; /* NULL: none */
};

static int read_ledger(void *context, const void *p)
{
	const struct db_ledger_get_row *row = p;
	struct ledger *ret = context;

	*ret = (struct ledger){ row->version, xstrdup(row->text) };
	return 1;
}

int store_ledger(struct store *s, uint64_t *ret_version, char **ret_text, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct ledger ledger = { 0 };

	db_each(&b, ledger_get, read_ledger, &ledger);
	if (db_end(&b) < 0)
		return db_end(&b);
	if (!ledger.text)
		return err_set(err, ENOENT, "there is no ledger yet");
	*ret_version = ledger.version;
	*ret_text = ledger.text;
	return 0;
}

int store_put_ledger(struct store *s, uint64_t version, const char *text, struct err *err)
{
	CLEANUP(freep) char *before = NULL;
	struct db_batch b = store_write(s, err);
	uint64_t now = 0;
	int r = db_end(&b);

	if (r == 0)
		r = store_ledger(s, &now, &before, err);
	if (r < 0 && r != -ENOENT)
		return r;
	if (now != version)
		return err_set(err, ESTALE, "the ledger changed in the meantime");
	db_add(&b, ledger_put, .version = version + 1, .text = text);
	return db_end(&b);
}

int store_add_event(struct store *s, const char *node, bool warning, const char *reason,
		    const char *message, uint64_t at_us, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, event_add, .node = node, .at_us = at_us, .warning = warning, .reason = reason,
	       .message = message);
	db_add(&b, events_drop, .kept = STORE_EVENTS_MAX);
	return db_end(&b);
}
