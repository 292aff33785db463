/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/job_ranks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cli/job_words.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/err.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

enum {
	RANKS_MAX = 16384, /* per job */
	WORDS_MAX = 4096,  /* bytes per cell */
	SPANS_SHOWN = 8,   /* "0-7, 16-23 and 3 more" */
	EVIDENCE_SHOWN = 3,
};

/* --- fetching --- */

static int fetch_page(struct link *link, const char *id, const char *cursor, json_t **ret,
		      struct err *err)
{
	CLEANUP(freep) char *segment = link_segment(id);
	CLEANUP(freep) char *at = link_segment(cursor ? cursor : "");
	CLEANUP(freep)
	char *path = xasprintf("/v1/jobs/%s/ranks?limit=%d%s%s", segment, LINK_PAGE,
			       cursor ? "&cursor=" : "", at);

	return link_get(link, path, ret, err);
}

int job_ranks_fetch(struct link *link, const char *id, json_t **ret, struct err *err)
{
	CLEANUP(json_freep) json_t *whole = NULL;
	CLEANUP(freep) char *cursor = NULL;

	do {
		CLEANUP(json_freep) json_t *page = NULL;
		int r = fetch_page(link, id, cursor, &page, err);

		if (r < 0)
			return r;
		free(cursor);
		cursor = xstrdup(json_string_value(json_object_get(page, "next")));
		if (!whole)
			whole = json_incref(page);
		else
			(void)json_array_extend(json_object_get(whole, "ranks"),
						json_object_get(page, "ranks"));
		if (json_array_size(json_object_get(whole, "ranks")) > RANKS_MAX)
			return err_set(err, E2BIG, "the job has more than %d ranks", RANKS_MAX);
	} while (cursor);
	(void)json_object_del(whole, "next");
	*ret = TAKE(whole);
	return 0;
}

bool job_ranks_is(const json_t *document)
{
	return json_is_array(json_object_get(document, "ranks")) &&
	       json_is_array(json_object_get(document, "groups"));
}

/* --- formatting --- */

/* Ascending numbers as ranges: "0-7, 16-23 and 3 more". */
static void put_spans(struct strbuf *text, const uint32_t *ranks, size_t n)
{
	size_t i = 0, k, spans = 0;

	while (i < n && spans < SPANS_SHOWN) {
		for (k = i; k + 1 < n && ranks[k + 1] == ranks[k] + 1; k++)
			;
		(void)strbuf_printf(text, "%s%u", spans++ ? ", " : "", ranks[i]);
		if (k > i)
			(void)strbuf_printf(text, "-%u", ranks[k]);
		i = k + 1;
	}
	if (i < n)
		(void)strbuf_printf(text, " and %zu more", n - i);
}

/* "9", "9, 14 and 3 more", or "". The caller frees it. */
static char *waits_of(const json_t *row)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(WORDS_MAX);
	const json_t *all = json_object_get(row, "waits_for");
	const double more = number_at(row, "waits_for_more");
	size_t i;

	for (i = 0; i < json_array_size(all); i++)
		(void)strbuf_printf(&text, "%s%" JSON_INTEGER_FORMAT, i ? ", " : "",
				    json_integer_value(json_array_get(all, i)));
	if (more > 0)
		(void)strbuf_printf(&text, " and %.0f more", more);
	return xstrdup(strbuf_text(&text));
}

/* "all_reduce 411", "411" or "-". The caller frees it. */
static char *collective_of(const json_t *row)
{
	CLEANUP(freep) char *op = text_at(row, "op");
	const double seq = number_at(row, "seq");

	if (isnan(seq))
		return xstrdup(op);
	return *raw_at(row, "op") ? xasprintf("%s %.0f", op, seq) : xasprintf("%.0f", seq);
}

/* Its name for people if there is one. The caller frees it. */
static char *group_of(const json_t *row)
{
	return text_at(row, *raw_at(row, "group_desc") ? "group_desc" : "group");
}

/* "stopped 300s", "waits", "does not wait", "not heard of". The caller frees it. */
static char *state_of(const json_t *row)
{
	const char *process = raw_at(row, "process");
	const double for_s = number_at(row, "for_s");
	const bool heard = json_array_size(json_object_get(row, "sources")) > 0;
	CLEANUP(freep) char *clean = text_at(row, "process");

	if (!heard)
		return xstrdup("not heard of");
	if (*process && !streq(process, "unknown") && !streq(process, "running") &&
	    !streq(process, "sleeping") && !streq(process, "futex"))
		return for_s > 0 ? xasprintf("%s %.0fs", clean, for_s) : xstrdup(clean);
	return xstrdup(json_is_true(json_object_get(row, "waits")) ? "waits" : "does not wait");
}

/* --- the table --- */

enum { COL_RANK, COL_HOST, COL_GPU, COL_LAST, COL_GROUP, COL_STATE, COL_WAITS, N_COLS };

static const struct table_column columns[N_COLS] = {
	[COL_RANK] = { "RANK", .min = 8 },
	[COL_HOST] = { "HOST", .min = 8 },
	[COL_GPU] = { "GPU", .leave = 1 },
	[COL_LAST] = { "LAST COLLECTIVE", .min = 12 },
	[COL_GROUP] = { "GROUP", .min = 8, .leave = 2 },
	[COL_STATE] = { "STATE" },
	[COL_WAITS] = { "WAITS FOR", .min = 8 },
};

static bool has_rank(const json_t *list, double rank)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		if (json_number_value(json_array_get(list, i)) == rank)
			return true;
	}
	return false;
}

/* Sort key. 0: stopped; 1: suspected; 2: others. */
static int place_of(const json_t *row, const json_t *verdict)
{
	const double rank = number_at(row, "rank");

	if (has_rank(json_object_get(verdict, "ranks"), rank))
		return 0;
	return has_rank(json_object_get(verdict, "suspects"), rank) ? 1 : 2;
}

static int paint_of(int place)
{
	if (place == 2)
		return TABLE_NONE;
	return place == 0 ? (int)PAINT_BAD : (int)PAINT_WARN;
}

static void add_row(struct table *t, const json_t *row, int place)
{
	struct table_row *r = table_add(t);

	r->paint = paint_of(place);
	r->cells[COL_RANK] = job_words_count(row, "rank");
	r->cells[COL_HOST] = text_at(row, "node");
	r->cells[COL_GPU] = text_at(row, "gpu");
	r->cells[COL_LAST] = collective_of(row);
	r->cells[COL_GROUP] = group_of(row);
	r->cells[COL_STATE] = state_of(row);
	r->cells[COL_WAITS] = waits_of(row);
	if (place < 2 && *raw_at(row, "where"))
		r->note = text_at(row, "where");
}

/* --- many ranks: groups in the same state --- */

/* Ranks in the same state, with the state as name. */
struct alike {
	char *name;
	const json_t *first;
	uint32_t *ranks; /* owned; ascending */
	size_t n;
	bool other_group, other_seq, other_host;
};

static void alike_release(void *item)
{
	struct alike *a = item;

	free(a->ranks);
}

static void put_alike(struct map *all, const json_t *row)
{
	CLEANUP(freep) char *waits = waits_of(row);
	CLEANUP(freep) char *state = state_of(row);
	CLEANUP(freep) char *key = xasprintf("%s\t%s\t%s", waits, raw_at(row, "op"), state);
	struct alike *a = map_need(all, key, sizeof(*a));

	if (!a->first)
		a->first = row;
	a->ranks = xrealloc(a->ranks, a->n + 1, sizeof(*a->ranks));
	a->ranks[a->n++] = (uint32_t)number_at(row, "rank");
	a->other_group |= !streq(raw_at(a->first, "group"), raw_at(row, "group"));
	a->other_seq |= number_at(a->first, "seq") != number_at(row, "seq");
	a->other_host |= !streq(raw_at(a->first, "node"), raw_at(row, "node"));
}

struct listing {
	struct alike **items;
	size_t n;
};

static void list_alike(void *context, void *item)
{
	struct listing *l = context;

	l->items[l->n++] = item;
}

/* Largest group first. */
static int compare_alike(const void *a, const void *b)
{
	const struct alike *x = *(struct alike *const *)a, *y = *(struct alike *const *)b;

	return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : strcmp(x->name, y->name);
}

static void add_alike(struct table *t, const struct alike *a)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(WORDS_MAX);
	struct table_row *r = table_add(t);

	put_spans(&text, a->ranks, a->n);
	r->paint = TABLE_NONE;
	r->cells[COL_RANK] = xstrdup(strbuf_text(&text));
	r->cells[COL_HOST] = a->other_host ? xstrdup("several") : text_at(a->first, "node");
	r->cells[COL_GPU] = a->n > 1 ? NULL : text_at(a->first, "gpu");
	r->cells[COL_LAST] = a->other_seq ? text_at(a->first, "op") : collective_of(a->first);
	r->cells[COL_GROUP] = a->other_group ? xstrdup("several") : group_of(a->first);
	r->cells[COL_STATE] = state_of(a->first);
	r->cells[COL_WAITS] = waits_of(a->first);
}

/* Add the rest of the ranks. Returns how many rows were left out. */
static size_t add_together(struct table *t, const json_t *ranks, const json_t *verdict)
{
	struct map all = { .n = 0 };
	struct listing l = { NULL, 0 };
	size_t i, left;

	for (i = 0; i < json_array_size(ranks); i++) {
		if (place_of(json_array_get(ranks, i), verdict) == 2)
			put_alike(&all, json_array_get(ranks, i));
	}
	l.items = xcalloc(all.n + 1, sizeof(struct alike *));
	map_each(&all, list_alike, &l);
	qsort(l.items, l.n, sizeof(struct alike *), compare_alike);
	for (i = 0; i < l.n && i < JOB_RANKS_ROWS; i++)
		add_alike(t, l.items[i]);
	left = l.n - i;
	free(l.items);
	map_release(&all, alike_release);
	return left;
}

/* --- output --- */

static void add_places(struct table *t, const json_t *ranks, const json_t *verdict, int last)
{
	int place;
	size_t i;

	for (place = 0; place <= last; place++) {
		for (i = 0; i < json_array_size(ranks); i++) {
			const json_t *row = json_array_get(ranks, i);

			if (place_of(row, verdict) == place)
				add_row(t, row, place);
		}
	}
}

static void put_texts(const json_t *texts, const char *label, const struct page *page)
{
	size_t i;

	for (i = 0; i < MIN(json_array_size(texts), (size_t)EVIDENCE_SHOWN); i++) {
		CLEANUP(freep)
		char *clean = utf8_clean(json_string_value(json_array_get(texts, i)));

		job_words_put(page, label, clean, TABLE_NONE);
	}
}

void job_ranks_put_hang(const json_t *hang, const struct page *page)
{
	CLEANUP(freep) char *state = text_at(hang, "state");
	CLEANUP(freep) char *sentence = text_at(hang, "sentence");
	const bool over = streq(raw_at(hang, "state"), "over");
	CLEANUP(freep)
	char *when = view_moment(raw_at(hang, over ? "until" : "since"), page->now_us);
	CLEANUP(freep)
	char *text = xasprintf("%s since %s: %s", state, when, sentence);

	if (json_is_object(hang))
		job_words_put(page, "hang", text, over ? (int)PAINT_DIM : (int)PAINT_BAD);
}

void job_ranks_show(const json_t *document, struct page *page)
{
	const json_t *hang = json_object_get(document, "hang");
	const json_t *verdict = json_object_get(hang, "verdict");
	const json_t *ranks = json_object_get(document, "ranks");
	CLEANUP(freep) char *act = text_at(hang, "act");
	const size_t n = json_array_size(ranks);
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };
	size_t left = 0;

	job_ranks_put_hang(hang, page);
	if (*raw_at(hang, "act"))
		job_words_put(page, "act", act, TABLE_NONE);
	put_texts(json_object_get(verdict, "evidence"), "evidence", page);
	put_texts(json_object_get(hang, "logs"), "logs", page);
	put_texts(json_object_get(verdict, "missing"), "missing", page);
	put_texts(json_object_get(verdict, "tell"), "would tell", page);
	if (n <= JOB_RANKS_EACH || page->wide) {
		add_places(&t, ranks, verdict, 2);
	} else {
		add_places(&t, ranks, verdict, 1);
		left = add_together(&t, ranks, verdict);
	}
	if (t.n_rows > 0 && !table_print(&t, page->out, page->colour, page->width))
		page->cut = true;
	if (left > 0)
		(void)fprintf(page->out, "and %zu more: -o wide has each rank\n", left);
	if (t.n_rows > 0)
		(void)fputc('\n', page->out);
	table_release(&t);
}

char *job_ranks_summary(const json_t *document)
{
	CLEANUP(freep) char *name = text_at(document, "job");
	CLEANUP(freep) char *state = text_at(document, "state");
	const size_t n = json_array_size(json_object_get(document, "ranks"));

	if (n == 0)
		return xasprintf("%s: %s; no host has reported on its ranks lately", name, state);
	return xasprintf("%s: %s; %zu rank%s", name, state, n, n == 1 ? "" : "s");
}
