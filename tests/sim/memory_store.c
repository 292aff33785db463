/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/memory_store.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/store/store.h"
#include "controller/store/store_joins.h"
#include "controller/store/store_part_names.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/report/host_parts.h"
#include "lib/report/report.h"

enum { SEQS_KEPT = 64, RUNS_KEPT = 4 };

/* The latest run of one profile. */
struct run {
	struct verdict verdict; /* its items, and strings that are not the report's, are in
				   `pool` */
	struct pool pool;
	uint64_t order, at_us;
};

struct incident {
	char *check;
	struct incident *next;
};

struct entry {
	uint64_t seq;
	uint64_t seqs; /* bit i: seq - i was received */
	struct run runs[RUNS_KEPT];
	uint64_t ran[RUNS_KEPT]; /* runs so far */
	struct store_window *rows;
	size_t n_rows;
	struct incident *incidents; /* open */
};

struct store {
	struct memory_events events;
	struct entry *nodes;
	size_t n;
	uint64_t order;
	struct incident *fleet; /* open ones of SKUs */
};

struct store *memory_store_new(size_t nodes, const struct memory_events *events)
{
	struct store *s = xcalloc(1, sizeof(*s));

	s->nodes = xcalloc(nodes, sizeof(*s->nodes));
	s->n = nodes;
	s->events = *events;
	return s;
}

static void incidents_free(struct incident *first)
{
	while (first) {
		struct incident *next = first->next;

		free(first->check);
		free(first);
		first = next;
	}
}

void store_window_release(struct store_window *row)
{
	free(row->check);
	free(row->subject);
	free(row->locality);
	free(row->code);
	free(row->sentence);
}

/* Returns a copy with its own strings. */
static struct store_window row_copy(const struct store_window *row)
{
	struct store_window copy = *row;

	copy.check = xstrdup(row->check);
	copy.subject = xstrdup(row->subject);
	copy.locality = xstrdup(row->locality);
	copy.code = xstrdup(row->code);
	copy.sentence = xstrdup(row->sentence);
	return copy;
}

void memory_store_free(struct store *s)
{
	size_t i, j;

	for (i = 0; i < s->n; i++) {
		struct entry *e = &s->nodes[i];

		for (j = 0; j < e->n_rows; j++)
			store_window_release(&e->rows[j]);
		for (j = 0; j < RUNS_KEPT; j++)
			pool_release(&e->runs[j].pool);
		free(e->rows);
		incidents_free(e->incidents);
	}
	incidents_free(s->fleet);
	free(s->nodes);
	free(s);
}

/* Returns NULL if it is not a host. */
static struct entry *entry_of(const struct store *s, const char *node)
{
	size_t number;

	if (!starts_with(node, "node-"))
		return NULL;
	number = strtoul(node + strlen("node-"), NULL, 10);
	return number < s->n ? &s->nodes[number] : NULL;
}

static size_t number_of(const struct store *s, const struct entry *e)
{
	return (size_t)(e - s->nodes);
}

/* --- reports --- */

/* Index of the latest run of each kind of profile. */
enum { PLACE_PASSIVE, PLACE_WHOLE, PLACE_GEMM, PLACE_LOAD };

static size_t place_of(const char *profile)
{
	if (!profile_is_active(profile))
		return PLACE_PASSIVE;
	if (streq(profile, "rung-gemm"))
		return PLACE_GEMM;
	return streq(profile, "rung-load") ? PLACE_LOAD : PLACE_WHOLE;
}

int store_place(struct store *s, const struct report *report, struct err *err UNUSED)
{
	const struct entry *e = entry_of(s, report->node);

	if (report->seq > e->seq)
		return PLACE_NEWEST;
	if (e->seq - report->seq >= SEQS_KEPT || e->seqs >> (e->seq - report->seq) & 1)
		return PLACE_DUPLICATE;
	return PLACE_LATE;
}

static char *keep_text(struct pool *pool, const char *text)
{
	return text ? pool_text(pool, text, strlen(text)) : NULL;
}

/* Copies strings of items into the pool; passed items have strings of the report, which stay valid. */
static void take_items(struct verdict_item *items, size_t n, struct pool *pool)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct verdict_item *item = &items[i];

		if (item->level == VERDICT_PASS)
			continue;
		item->check = keep_text(pool, item->check);
		item->subject = keep_text(pool, item->subject);
		item->sentence = keep_text(pool, item->sentence);
		item->link = keep_text(pool, item->link);
	}
}

static void keep_run(struct run *run, const struct verdict *v, uint64_t order)
{
	pool_release(&run->pool);
	run->order = order;
	run->verdict = (struct verdict){ .level = v->level, .borrows = true };
	run->verdict.items = pool_take(&run->pool, (v->n_items + 1) * sizeof(*v->items));
	run->verdict.n_items = v->n_items;
	memcpy(run->verdict.items, v->items, v->n_items * sizeof(*v->items));
	take_items(run->verdict.items, v->n_items, &run->pool);
}

int store_add(struct store *s, const struct store_report *in, struct err *err UNUSED)
{
	const struct report *report = in->report;
	struct entry *e = entry_of(s, report->node);
	struct run *run;

	if (report->seq <= e->seq) {
		e->seqs |= UINT64_C(1) << (e->seq - report->seq);
		return 0;
	}
	e->seqs = report->seq - e->seq < SEQS_KEPT ? e->seqs << (report->seq - e->seq) : 0;
	e->seqs |= 1;
	e->seq = report->seq;
	run = &e->runs[place_of(report->profile)];
	keep_run(run, in->verdict, ++s->order);
	run->at_us = in->seen_us;
	/* The strings of the run itself are the report's too. */
	run->verdict.node = report->node;
	run->verdict.time = report->time;
	run->verdict.profile = report->profile;
	e->ran[place_of(report->profile)]++;
	s->events.run(s->events.context, number_of(s, e), profile_is_active(report->profile),
		      in->verdict);
	return 0;
}

/* Returns the latest run before that one; NULL: none. */
static const struct run *newest_below(const struct entry *e, uint64_t order)
{
	const struct run *newest = NULL;
	size_t i;

	for (i = 0; i < RUNS_KEPT; i++) {
		const struct run *run = &e->runs[i];

		if (run->order > 0 && run->order < order && (!newest || run->order > newest->order))
			newest = run;
	}
	return newest;
}

int store_runs(struct store *s, const char *node, struct pool *pool, struct verdict *ret_runs,
	       struct err *err UNUSED)
{
	const struct entry *e = entry_of(s, node);
	uint64_t below = UINT64_MAX;
	int n = 0;

	for (; n < RUNS_KEPT; n++) {
		const struct run *run = newest_below(e, below);
		struct verdict *v = &ret_runs[n];

		if (!run)
			break;
		below = run->order;
		*v = run->verdict;
		v->seq = run->order;
		v->node = xstrdup(v->node);
		v->time = xstrdup(v->time);
		v->profile = xstrdup(v->profile);
		v->items = xcalloc(v->n_items + 1, sizeof(*v->items));
		memcpy(v->items, run->verdict.items, v->n_items * sizeof(*v->items));
		take_items(v->items, v->n_items, pool);
	}
	return n;
}

const struct verdict *memory_store_active(const struct store *s, size_t node, uint64_t *ret_at_us)
{
	const struct run *whole = &s->nodes[node].runs[PLACE_WHOLE];
	const struct run *load = &s->nodes[node].runs[PLACE_LOAD];
	const struct run *run = load->order > whole->order ? load : whole;

	*ret_at_us = run->at_us;
	return run->order > 0 ? &run->verdict : NULL;
}

int store_ran_before(struct store *s, const char *node, const char *profile, struct err *err UNUSED)
{
	const struct entry *e = entry_of(s, node);

	return e->ran[place_of(profile)] > 1;
}

int store_restate(struct store *s UNUSED, const char *node UNUSED, int level UNUSED,
		  const char *sentence UNUSED, struct err *err UNUSED)
{
	return 0;
}

/* No host joins a simulated fleet. */
int store_unverified(struct store *s UNUSED, const char *node UNUSED, bool *ret,
		     struct err *err UNUSED)
{
	*ret = false;
	return 0;
}

int store_verify(struct store *s UNUSED, const char *node UNUSED, uint64_t now_us UNUSED,
		 struct err *err UNUSED)
{
	return 0;
}

/* --- windows --- */

size_t memory_store_rows(const struct store *s, size_t node)
{
	return s->nodes[node].n_rows;
}

int store_windows(struct store *s, const char *node, struct store_window **ret_rows, size_t max,
		  struct err *err UNUSED)
{
	const struct entry *e = entry_of(s, node);
	struct store_window *rows = xcalloc(max, sizeof(*rows));
	size_t n = MIN(e->n_rows, max), i;

	for (i = 0; i < n; i++)
		rows[i] = row_copy(&e->rows[i]);
	*ret_rows = rows;
	return (int)n;
}

static struct store_window *find_row(const struct entry *e, const char *check, const char *subject)
{
	size_t i;

	for (i = 0; i < e->n_rows; i++) {
		if (streq(e->rows[i].check, check) && streq(e->rows[i].subject, subject))
			return &e->rows[i];
	}
	return NULL;
}

int store_put_window(struct store *s, const char *node, const struct store_window *row,
		     struct err *err UNUSED)
{
	struct entry *e = entry_of(s, node);
	struct store_window *there = find_row(e, row->check, row->subject);

	if (there) {
		store_window_release(there);
	} else {
		e->rows = xrealloc(e->rows, e->n_rows + 1, sizeof(*e->rows));
		there = &e->rows[e->n_rows++];
	}
	*there = row_copy(row);
	s->events.window(s->events.context, number_of(s, e), row);
	return 0;
}

static void drop_row(struct entry *e, struct store_window *row)
{
	store_window_release(row);
	*row = e->rows[--e->n_rows];
}

int store_drop_window(struct store *s, const char *node, const struct store_window *row,
		      struct err *err UNUSED)
{
	struct entry *e = entry_of(s, node);
	struct store_window *there = find_row(e, row->check, row->subject);

	s->events.window_gone(s->events.context, number_of(s, e), row->check, row->subject);
	if (there)
		drop_row(e, there);
	return 0;
}

void memory_store_forget(struct store *s, size_t node, const char *check, const char *subject)
{
	struct entry *e = &s->nodes[node];
	struct store_window *there = find_row(e, check, subject);

	if (there)
		drop_row(e, there);
}

/* --- part names: simulated hosts have none --- */

int store_part_names(struct store *s UNUSED, const char *node UNUSED, struct host_parts *ret,
		     struct err *err UNUSED)
{
	*ret = (struct host_parts){ 0 };
	return 0;
}

int store_put_part_names(struct store *s UNUSED, const char *node UNUSED,
			 const struct host_parts *parts UNUSED, struct err *err UNUSED)
{
	return 0;
}

/* --- incidents --- */

static struct incident **incidents_of(struct store *s, const char *node)
{
	struct entry *e = entry_of(s, node);

	return e ? &e->incidents : &s->fleet;
}

int store_put_incident(struct store *s, const struct store_incident *incident,
		       uint64_t now_us UNUSED, struct err *err UNUSED)
{
	struct incident **list = incidents_of(s, incident->node), *one;

	for (one = *list; one; one = one->next) {
		if (streq(one->check, incident->check))
			return 0;
	}
	one = xcalloc(1, sizeof(*one));
	*one = (struct incident){ .check = xstrdup(incident->check), .next = *list };
	*list = one;
	s->events.incident(s->events.context, incident, list == &s->fleet);
	return 0;
}

int store_close_incident(struct store *s, const char *node, const char *check,
			 uint64_t now_us UNUSED, struct err *err UNUSED)
{
	struct incident **at = incidents_of(s, node);

	while (*at && !streq((*at)->check, check))
		at = &(*at)->next;
	if (*at) {
		struct incident *gone = *at;

		*at = gone->next;
		gone->next = NULL;
		s->events.incident_over(s->events.context, node, gone->check, !entry_of(s, node));
		incidents_free(gone);
	}
	return 0;
}

int store_begin_anew(struct store *s, const char *node, uint64_t now_us UNUSED,
		     struct err *err UNUSED)
{
	struct entry *e = entry_of(s, node);

	while (e->n_rows > 0)
		drop_row(e, &e->rows[0]);
	incidents_free(e->incidents);
	e->incidents = NULL;
	return 0;
}

/* --- read at start: a simulated controller starts empty --- */

int store_has_node(struct store *s UNUSED, const char *node UNUSED, bool *ret_known,
		   struct err *err UNUSED)
{
	*ret_known = false;
	return 0;
}

int store_node(struct store *s UNUSED, const char *node, uint64_t now_us UNUSED,
	       json_t **ret_node UNUSED, struct err *err)
{
	return err_set(err, ENOENT, "there is no host '%s'", node);
}

int store_open_incidents(struct store *s UNUSED, const char *node UNUSED, json_t **ret_items,
			 struct err *err UNUSED)
{
	*ret_items = json_array();
	return 0;
}

int store_incidents(struct store *s UNUSED, const struct store_range *range UNUSED,
		    bool open_only UNUSED, struct store_page *ret, struct err *err UNUSED)
{
	*ret = (struct store_page){ .items = json_array() };
	return 0;
}
