/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_series.h"

#include "controller/store/sql/statements.h"
#include "controller/store/store_sql.h"
#include "lib/judge/verdict.h"

struct report_reader {
	void (*report)(void *context, const struct store_series_report *r);
	void *context;
	int64_t last;
	int n;
};

static int read_report(void *context, const void *p)
{
	const struct db_series_reports_row *row = p;
	struct report_reader *reader = context;
	const struct store_series_report report = {
		row->id,
		row->seen_us,
		{ (int)row->coding, row->body.bytes, row->body.length },
	};

	reader->report(reader->context, &report);
	reader->last = row->id;
	reader->n++;
	return 0;
}

int store_series_reports(struct store *s, const char *node, struct store_series_range *range,
			 void (*report)(void *context, const struct store_series_report *r),
			 void *context, struct err *err)
{
	struct report_reader reader = { report, context, range->before, 0 };
	struct db_batch b = store_ask(s, err);

	db_each(&b, series_reports, read_report, &reader, .node = node, .before = range->before,
		.since_us = range->since_us, .limit = range->limit);
	if (db_end(&b) < 0)
		return db_end(&b);
	range->before = reader.last;
	return reader.n;
}

struct item_reader {
	void (*item)(void *context, const char *subject, int level, double expected, double floor);
	void *context;
};

static int read_item(void *context, const void *p)
{
	const struct db_series_items_row *row = p;
	const struct item_reader *reader = context;

	reader->item(reader->context, row->subject, store_within(row->level, VERDICT_FAIL),
		     row->expected, row->floor);
	return 0;
}

int store_series_items(struct store *s, int64_t report, const char *check,
		       void (*item)(void *context, const char *subject, int level, double expected,
				    double floor),
		       void *context, struct err *err)
{
	struct item_reader reader = { item, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, series_items, read_item, &reader, .report = report, .check_name = check);
	return db_end(&b);
}
