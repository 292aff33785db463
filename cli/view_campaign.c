/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl campaign show: the rounds of a campaign, and the hosts blamed. */
#include <math.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"

enum { COL_ROUND, COL_STATE, COL_VALUE, COL_PART, COL_HOSTS, N_COLS };

enum { NAMES_MAX = 64 * 1024 };

/* Values below this share of the best group are coloured: the judge's threshold for pairs. */
#define PART_LOW 0.93

static const struct table_column columns[N_COLS] = {
	[COL_ROUND] = { "ROUND", .right = true }, [COL_STATE] = { "GROUP" },
	[COL_VALUE] = { "RATE", .right = true },  [COL_PART] = { "OF BEST", .right = true },
	[COL_HOSTS] = { "HOSTS", .wrap = true },
};

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	CLEANUP(freep) char *segment = link_segment(request->argument);
	CLEANUP(freep) char *path = xasprintf("/v1/campaigns/%s", segment);
	json_t *campaign = NULL;
	int r = link_get(link, path, &campaign, err);

	if (r == 0)
		*ret = (struct picture){ .document = campaign };
	return r;
}

/* The host blamed, or the progress. */
static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	const json_t *c = picture->document;
	const char *sentence = raw_at(c, "sentence");
	CLEANUP(freep) char *id = text_at(c, "id");
	CLEANUP(freep) char *state = text_at(c, "state");
	CLEANUP(freep) char *clean = utf8_clean(sentence);

	if (*sentence)
		return xasprintf("campaign %s, %s: %s", id, state, clean);
	return xasprintf("campaign %s, %s: round %.0f of at most %.0f", id, state,
			 number_at(c, "rounds_made"), number_at(c, "rounds_max"));
}

/* Restarts explain why it took longer and why groups may have run twice. */
static void show_resumed(const json_t *campaign, const struct page *page)
{
	const double n = number_at(campaign, "resumed");
	CLEANUP(freep) char *times = xasprintf("%.0f times", n);
	CLEANUP(freep)
	char *line = xasprintf("the controller restarted %s while it ran: a group whose orders "
			       "were in progress may have run twice",
			       n > 1 ? times : "once");

	if (n >= 1)
		text_wrap(line, page->out, 0, page->width);
}

/* --- rounds --- */

static double best_of(const json_t *rounds)
{
	double best = NAN;
	size_t i, j;

	for (i = 0; i < json_array_size(rounds); i++) {
		const json_t *groups = json_object_get(json_array_get(rounds, i), "groups");

		for (j = 0; j < json_array_size(groups); j++)
			best = fmax(best, number_at(json_array_get(groups, j), "value"));
	}
	return best;
}

static char *names_of(const json_t *group)
{
	CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT(NAMES_MAX);
	const json_t *nodes = json_object_get(group, "nodes");
	size_t i;

	for (i = 0; i < json_array_size(nodes); i++) {
		const char *name = json_string_value(json_array_get(nodes, i));

		(void)strbuf_printf(&words, "%s%s", i ? " " : "", name ? name : "-");
	}
	return utf8_clean(strbuf_text(&words));
}

static int paint_of(const char *state, double part)
{
	if (streq(state, "failed") || part < PART_LOW)
		return PAINT_BAD;
	return streq(state, "measured") ? PAINT_GOOD : PAINT_DIM;
}

static void add_group(struct table *t, double round, const json_t *group, double best)
{
	struct table_row *row = table_add(t);
	const double value = number_at(group, "value");
	const char *why = raw_at(group, "why");

	row->paint = paint_of(raw_at(group, "state"), value / best);
	row->cells[COL_ROUND] = xasprintf("%.0f", round);
	row->cells[COL_STATE] = text_at(group, "state");
	row->cells[COL_VALUE] = quantity(value, "B/s");
	row->cells[COL_PART] = ratio(value, best);
	row->cells[COL_HOSTS] = names_of(group);
	row->note = *why ? utf8_clean(why) : NULL;
}

static void show_rounds(const json_t *rounds, struct page *page)
{
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };
	const double best = best_of(rounds);
	size_t i, j;

	for (i = 0; i < json_array_size(rounds); i++) {
		const json_t *round = json_array_get(rounds, i);
		const json_t *groups = json_object_get(round, "groups");

		for (j = 0; j < json_array_size(groups); j++)
			add_group(&t, number_at(round, "round"), json_array_get(groups, j), best);
	}
	if (t.n_rows > 0) {
		page->cut |= !table_print(&t, page->out, page->colour, page->width);
		(void)fputc('\n', page->out);
	}
	table_release(&t);
}

/* --- hosts --- */

static void show_gone(const json_t *nodes, const struct page *page)
{
	size_t i;

	for (i = 0; i < json_array_size(nodes); i++) {
		const json_t *node = json_array_get(nodes, i);
		CLEANUP(freep) char *name = text_at(node, "node");
		CLEANUP(freep) char *why = text_at(node, "why");
		CLEANUP(freep) char *line = xasprintf("%s was left out: %s", name, why);

		if (json_is_true(json_object_get(node, "gone")))
			text_wrap(line, page->out, 0, page->width);
	}
}

static void show(const struct picture *picture, struct page *page)
{
	const json_t *c = picture->document;
	CLEANUP(freep) char *reason = text_at(c, "reason");
	CLEANUP(freep) char *who = text_at(c, "who");
	CLEANUP(freep) char *check = text_at(c, "check");
	CLEANUP(freep) char *line = xasprintf("%s, for %s: %s", check, who, reason);

	text_wrap(line, page->out, 0, page->width);
	show_resumed(c, page);
	(void)fputc('\n', page->out);
	show_rounds(json_object_get(c, "rounds"), page);
	show_gone(json_object_get(c, "nodes"), page);
}

const struct view view_campaign = { fetch, summary, show, NULL };
