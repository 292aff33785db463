/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_metrics.h"

#include "controller/store/sql/statements.h"
#include "controller/store/store_sql.h"
#include "lib/judge/verdict.h"

struct host_reader {
	void (*host)(void *context, const struct store_host_brief *h);
	void *context;
	uint64_t now_us;
};

static int read_host(void *context, const void *p)
{
	const struct db_hosts_brief_row *row = p;
	const struct host_reader *reader = context;
	const bool stale = store_is_stale(row->seen_us, reader->now_us);
	const struct store_host_brief host = {
		.node = row->node,
		.sku = row->sku,
		.level = stale ? VERDICT_INCONCLUSIVE : store_within(row->verdict, VERDICT_FAIL),
		.stale = stale,
	};

	reader->host(reader->context, &host);
	return 0;
}

int store_hosts_brief(struct store *s, const char *after, size_t limit, uint64_t now_us,
		      void (*host)(void *context, const struct store_host_brief *h), void *context,
		      struct err *err)
{
	struct host_reader reader = { host, context, now_us };
	struct db_batch b = store_ask(s, err);

	db_each(&b, hosts_brief, read_host, &reader, .after = after, .limit = limit);
	return db_end(&b);
}

struct kind_reader {
	void (*kind)(void *context, const char *check, const char *action, uint64_t n);
	void *context;
};

static int read_kind(void *context, const void *p)
{
	const struct db_incidents_by_kind_row *row = p;
	const struct kind_reader *reader = context;

	reader->kind(reader->context, row->check_name, row->action, row->n);
	return 0;
}

int store_incidents_by_kind(struct store *s,
			    void (*kind)(void *context, const char *check, const char *action,
					 uint64_t n),
			    void *context, struct err *err)
{
	struct kind_reader reader = { kind, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, incidents_by_kind, read_kind, &reader);
	return db_end(&b);
}
