/* SPDX-License-Identifier: Apache-2.0 */
/* Windows and incidents: what the last runs of a host add up to. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "controller/store/sql/statements.h"
#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/host_parts_words.h"

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
	struct db_batch b = store_ask(s, err);
	const bool ran = db_any(&b, run_before, .node = node, .profile = profile);

	return db_end(&b) < 0 ? db_end(&b) : ran;
}

struct window_reader {
	struct store_window *rows;
	size_t n;
};

static int read_window(void *context, const void *p)
{
	const struct db_windows_row *row = p;
	struct window_reader *reader = context;

	reader->rows[reader->n++] = (struct store_window){
		.check = xstrdup(row->check_name),
		.subject = xstrdup(row->subject),
		.windows = { row->bits, (unsigned)row->seen },
		.k = (unsigned)row->k,
		.n = (unsigned)row->n,
		.since_us = row->since_us,
		.last_us = row->last_us,
		.severity = (int)row->severity,
		.source = (int)row->source,
		.born = row->born != 0,
		.parts_bad = (unsigned)row->parts_bad,
		.parts = (unsigned)row->parts,
		.score = row->score,
		.locality = xstrdup(row->class),
		.code = xstrdup(row->code),
		.sentence = xstrdup(row->sentence),
	};
	return 0;
}

int store_windows(struct store *s, const char *node, struct store_window **ret_rows, size_t max,
		  struct err *err)
{
	/* Only few are used. */
	struct window_reader reader = { xrealloc(NULL, max, sizeof(*reader.rows)), 0 };
	struct db_batch b = store_ask(s, err);

	db_each(&b, windows, read_window, &reader, .node = node, .limit = max);
	if (db_end(&b) == 0) {
		*ret_rows = reader.rows;
		return (int)reader.n;
	}
	while (reader.n > 0)
		store_window_release(&reader.rows[--reader.n]);
	free(reader.rows);
	return db_end(&b);
}

int store_put_window(struct store *s, const char *node, const struct store_window *row,
		     struct err *err)
{
	struct db_batch b = store_ask(s, err);

	db_add(&b, window_put, .node = node, .check_name = row->check, .subject = row->subject,
	       .bits = row->windows.bits, .seen = row->windows.n, .k = row->k, .n = row->n,
	       .since_us = row->since_us, .last_us = row->last_us, .severity = row->severity,
	       .source = row->source, .born = row->born, .parts_bad = row->parts_bad,
	       .parts = row->parts, .score = row->score, .class = row->locality, .code = row->code,
	       .sentence = row->sentence);
	return db_end(&b);
}

int store_drop_window(struct store *s, const char *node, const struct store_window *row,
		      struct err *err)
{
	struct db_batch b = store_ask(s, err);

	db_add(&b, window_drop, .node = node, .check_name = row->check, .subject = row->subject);
	return db_end(&b);
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

/* --- reports of items --- */

static json_t *bad_report_of_row(const void *p, uint64_t now_us UNUSED)
{
	const struct db_bad_reports_row *r = p;

	return json_pack("{s:o, s:I, s:o, s:o, s:o, s:o, s:o}", "boot_id",
			 store_json_text(r->boot_id), "seq", (json_int_t)r->seq, "time",
			 store_json_text(r->time), "seen", json_stamp(r->seen_us), "profile",
			 store_json_text(r->profile), "verdict", store_json_level(r->level),
			 "value", isnan(r->value) ? json_null() : json_real(r->value));
}

int store_add_reports(struct store *s, const char *node, json_t *items, struct err *err)
{
	size_t n = MIN(json_array_size(items), (size_t)STORE_PROOF_ITEMS), i;
	int r = 0;

	for (i = 0; r == 0 && i < n; i++) {
		struct listing list = { .item = bad_report_of_row, .limit = STORE_PROOF_REPORTS };
		json_t *item = json_array_get(items, i);
		struct db_batch b = store_ask(s, err);
		struct store_page page = { 0 };

		db_each(&b, bad_reports, listing_row, &list, .node = node,
			.check_name = json_string_value(json_object_get(item, "check")),
			.subject = json_string_value(json_object_get(item, "subject")),
			.within = STORE_PROOF_WITHIN, .limit = STORE_PROOF_REPORTS);
		r = listing_end(&list, &b, &page);
		if (r == 0)
			(void)json_object_set_new(item, "reports", page.items);
	}
	return r;
}

/* --- incidents --- */

int store_put_incident(struct store *s, const struct store_incident *i, uint64_t now_us,
		       struct err *err)
{
	struct db_batch b = store_ask(s, err);
	struct db_incident_update_row updated = { 0 };

	s->incident_changes++;
	(void)db_one(&b, incident_update, &updated, .node = i->node, .check_name = i->check,
		     .subject = i->subject, .level = i->level, .fatal = i->fatal, .rule = i->rule,
		     .action = i->action, .sentence = i->sentence, .now_us = now_us,
		     .parts = i->parts);
	if (updated.changes == 0)
		db_add(&b, incident_add, .node = i->node, .check_name = i->check,
		       .subject = i->subject, .level = i->level, .fatal = i->fatal, .rule = i->rule,
		       .action = i->action, .sentence = i->sentence, .now_us = now_us,
		       .since_us = MIN(i->since_us, now_us), .parts = i->parts);
	return db_end(&b);
}

int store_close_incident(struct store *s, const char *node, const char *check, uint64_t now_us,
			 struct err *err)
{
	struct db_batch b = store_ask(s, err);

	s->incident_changes++;
	db_add(&b, incident_close, .node = node, .check_name = check, .now_us = now_us);
	return db_end(&b);
}

struct others {
	bool (*stands)(void *context, const char *node);
	void *context;
	char **nodes; /* nodes that do not stand */
	size_t n;
};

static int take_other(void *context, const void *p)
{
	const struct db_incidents_of_check_row *row = p;
	struct others *o = context;

	if (o->stands(o->context, row->node))
		return 0;
	o->nodes = xrealloc(o->nodes, o->n + 1, sizeof(*o->nodes));
	o->nodes[o->n++] = xstrdup(row->node);
	return 0;
}

int store_close_others(struct store *s, const char *check,
		       bool (*stands)(void *context, const char *node), void *context,
		       uint64_t now_us, struct err *err)
{
	struct others others = { .stands = stands, .context = context };
	struct db_batch b = store_ask(s, err);
	size_t i;
	int r;

	db_each(&b, incidents_of_check, take_other, &others, .check_name = check);
	r = db_end(&b);
	for (i = 0; i < others.n; i++) {
		if (r == 0)
			r = store_close_incident(s, others.nodes[i], check, now_us, err);
		free(others.nodes[i]);
	}
	free(others.nodes);
	return r < 0 ? r : (int)others.n;
}

int store_begin_anew(struct store *s, const char *node, uint64_t now_us, struct err *err)
{
	struct db_batch b = store_ask(s, err);

	s->incident_changes++;
	db_add(&b, incidents_close, .node = node, .now_us = now_us);
	db_add(&b, windows_drop, .node = node);
	db_add(&b, runs_drop, .node = node);
	return db_end(&b);
}

int store_begin_repaired(struct store *s, const char *node, uint64_t now_us, struct err *err)
{
	struct db_batch b = store_ask(s, err);

	s->incident_changes++;
	db_add(&b, incidents_close, .node = node, .now_us = now_us);
	db_add(&b, windows_drop, .node = node);
	db_add(&b, runs_drop_all, .node = node);
	return db_end(&b);
}

/* Add the names of its parts when it was opened, and its subject with these names. */
static void add_parts(json_t *incident, const struct db_incidents_row *i)
{
	CLEANUP(host_parts_release) struct host_parts parts = { 0 };
	CLEANUP(json_freep) json_t *list = i->parts ? json_loads(i->parts, 0, NULL) : NULL;
	CLEANUP(freep) char *name = NULL;

	host_parts_decode(list, &parts);
	if (parts.n == 0)
		return;
	name = host_parts_words(&parts, i->subject);
	(void)json_object_set_new(incident, "name", json_string(name));
	(void)json_object_set_new(incident, "parts", host_parts_encode(&parts));
}

static json_t *incident_of_row(const void *p, uint64_t now_us UNUSED)
{
	const struct db_incidents_row *i = p;
	json_t *incident = json_pack(
		"{s:o, s:s, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "id",
		json_sprintf("%" PRId64, i->id), "state", i->closed_us ? "closed" : "open", "node",
		store_json_text(i->node), "check", store_json_text(i->check_name), "subject",
		store_json_text(i->subject), "verdict", store_json_level(i->level), "fatal",
		(int)i->fatal, "rule", store_json_text(i->rule), "action",
		store_json_text(i->action), "sentence", store_json_text(i->sentence), "opened",
		json_stamp(i->opened_us), "last", json_stamp(i->last_us), "closed",
		json_stamp(i->closed_us));

	add_parts(incident, i);
	return incident;
}

int store_incidents(struct store *s, const struct store_range *range, bool open_only,
		    struct store_page *ret, struct err *err)
{
	struct listing list = { .item = incident_of_row, .limit = range->limit };
	struct db_batch b = store_ask(s, err);

	db_each(&b, incidents, listing_row, &list, .before = store_cursor_number(range),
		.open_only = open_only, .limit = range->limit + 1);
	return listing_end(&list, &b, ret);
}

int store_open_incidents(struct store *s, const char *node, json_t **ret_items, struct err *err)
{
	struct listing list = { .item = incident_of_row, .limit = SIZE_MAX };
	struct db_batch b = store_ask(s, err);
	struct store_page page = { 0 };
	int r;

	db_each(&b, incidents_of_node, listing_row, &list, .node = node);
	r = listing_end(&list, &b, &page);
	if (r == 0)
		*ret_items = page.items;
	return r;
}

static int take_incident(void *context, const void *row)
{
	json_t **ret = context;

	*ret = incident_of_row(row, 0);
	return 1;
}

int store_incident(struct store *s, int64_t id, json_t **ret_incident, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	json_t *incident = NULL;

	db_each(&b, incident, take_incident, &incident, .id = id);
	if (db_end(&b) < 0)
		return db_end(&b);
	if (!incident)
		return err_set(err, ENOENT, "no incident %" PRId64, id);
	*ret_incident = incident;
	return 0;
}
