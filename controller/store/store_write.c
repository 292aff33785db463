/* SPDX-License-Identifier: Apache-2.0 */
/* Storing reports; one transaction holds many of them. */
#include <stdlib.h>

#include "controller/store/coverage_codec.h"
#include "controller/store/pack.h"
#include "controller/store/sql/statements.h"
#include "controller/store/standing_codec.h"
#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"

static int find_node(struct store *s, const char *node, struct db_node_find_row *ret,
		     struct err *err)
{
	struct db_batch b = store_ask(s, err);

	(void)db_one(&b, node_find, ret, .node = node);
	return db_end(&b);
}

/* `*ret_boot` is unchanged if the boot is unknown. */
static int find_boot(struct store *s, int64_t node, const char *boot_id, int64_t *ret_boot,
		     struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_boot_find_row row;

	if (db_one(&b, boot_find, &row, .node = node, .boot_id = boot_id))
		*ret_boot = row.id;
	return db_end(&b);
}

int store_place(struct store *s, const struct report *report, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_node_find_row known = { 0 };
	int64_t boot = 0;
	int r = find_node(s, report->node, &known, err);

	if (r == 0 && known.id)
		r = find_boot(s, known.id, report->boot_id, &boot, err);
	if (r < 0)
		return r;
	/* An unknown boot is a new one, as agents send in order. */
	if (!boot)
		return PLACE_NEWEST;
	if (db_any(&b, report_find, .boot = boot, .seq = report->seq))
		return PLACE_DUPLICATE;
	if (db_end(&b) < 0)
		return db_end(&b);
	return boot == known.boot && report->seq > known.seq ? PLACE_NEWEST : PLACE_LATE;
}

static int need_node(struct store *s, const struct store_report *in, int64_t *ret_node,
		     struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_node_find_row known = { 0 };
	struct db_node_add_row added;
	int r = find_node(s, in->report->node, &known, err);

	if (r < 0)
		return r;
	if (known.id)
		*ret_node = known.id;
	else if (db_one(&b, node_add, &added, .node = in->report->node, .seen_us = in->seen_us))
		*ret_node = added.id;
	return db_end(&b);
}

static int need_boot(struct store *s, const struct store_report *in, int64_t node,
		     int64_t *ret_boot, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	const char *boot_id = in->report->boot_id;
	struct db_boot_add_row added;
	int r = find_boot(s, node, boot_id, ret_boot, err);

	if (r < 0 || *ret_boot)
		return r;
	if (db_one(&b, boot_add, &added, .node = node, .boot_id = boot_id, .first_us = in->seen_us))
		*ret_boot = added.id;
	return db_end(&b);
}

/* It then has the highest number in the store. */
static int add_report(struct store *s, const struct store_report *in, int64_t node, int64_t boot,
		      int64_t *ret_id, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_report_add_row added;

	if (!db_one(&b, report_add, &added, .boot = boot, .seq = in->report->seq, .node = node,
		    .seen_us = in->seen_us, .time = in->report->time, .profile = in->report->profile,
		    .verdict = in->verdict->level, .sentence = in->verdict->sentence,
		    .coding = in->body->coding, .body = { in->body->bytes, in->body->length }))
		return db_end(&b);
	*ret_id = added.id;
	s->last_report = MAX(s->last_report, (uint64_t)added.id);
	return 0;
}

static int add_items(struct store *s, const struct verdict *v, int64_t report, int64_t node,
		     struct err *err)
{
	struct db_batch b = store_ask(s, err);
	size_t i;

	for (i = 0; i < MIN(v->n_items, (size_t)STORE_ITEMS_MAX); i++) {
		const struct verdict_item *item = &v->items[i];

		if (item->level == VERDICT_PASS)
			break; /* sorted worst first */
		db_add(&b, item_add, .report = report, .nth = i, .node = node,
		       .check_name = item->check, .subject = item->subject, .level = item->level,
		       .value = item->value, .unit = item->unit, .expected = item->expected,
		       .floor = item->floor, .source = item->source, .n = item->n,
		       .fatal = item->fatal, .sentence = item->sentence, .link = item->link,
		       .facts = store_facts(item));
	}
	return db_end(&b);
}

static int put_run(struct store *s, const struct store_report *in, int64_t report, int64_t node,
		   struct err *err)
{
	CLEANUP(freep) char *measured = coverage_codec_encode(in->verdict);
	CLEANUP(freep) char *kept = standing_codec_encode(in->kept, in->n_kept);
	struct db_batch b = store_ask(s, err);

	db_add(&b, run_put, .node = node, .profile = in->report->profile ? in->report->profile : "",
	       .report = report, .time = in->report->time, .verdict = in->verdict->level,
	       .measured = measured, .kept = kept);
	return db_end(&b);
}

static int update_node(struct store *s, const struct store_report *in, int64_t node, int64_t boot,
		       struct err *err)
{
	const struct report *report = in->report;
	CLEANUP(freep) char *env = report->env ? json_dumps(report->env, JSON_COMPACT) : NULL;
	struct db_batch b = store_ask(s, err);

	db_add(&b, node_update, .id = node, .boot = boot, .seq = report->seq, .time = report->time,
	       .seen_us = in->seen_us, .profile = report->profile, .agent = report->agent,
	       .sku = report->sku, .topology = report->topology, .env = env ? env : "{}",
	       .verdict = in->merged->level, .sentence = in->merged->sentence);
	return db_end(&b);
}

int store_restate(struct store *s, const char *node, int level, const char *sentence,
		  struct err *err)
{
	struct db_batch b = store_ask(s, err);

	db_add(&b, node_restate, .node = node, .verdict = level, .sentence = sentence);
	return db_end(&b);
}

static int add_all(struct store *s, const struct store_report *in, struct err *err)
{
	struct db_batch b = store_write(s, err);
	int64_t node = 0, boot = 0, id = 0;
	int r = db_end(&b);

	if (r == 0)
		r = need_node(s, in, &node, err);
	if (r == 0)
		r = need_boot(s, in, node, &boot, err);
	if (r == 0)
		r = add_report(s, in, node, boot, &id, err);
	if (r == 0)
		r = add_items(s, in->verdict, id, node, err);
	/* Runs measured before the newest, and tests with others, do not update the host. */
	if (r < 0 || in->history)
		return r;
	r = put_run(s, in, id, node, err);
	return r == 0 ? update_node(s, in, node, boot, err) : r;
}

int store_add(struct store *s, const struct store_report *in, struct err *err)
{
	int r = add_all(s, in, err);

	if (r < 0)
		store_take_back(s);
	return r;
}
