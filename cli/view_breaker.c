/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl breaker: can hosts be taken out of service now, and how many more? */
#include <math.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/items.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

enum { COL_BUDGET, COL_USED, COL_LIMIT, COL_WORDS, N_COLS };

static const struct table_column columns[N_COLS] = {
	[COL_BUDGET] = { "BUDGET" },
	[COL_USED] = { "USED", .right = true },
	[COL_LIMIT] = { "LIMIT", .right = true },
	[COL_WORDS] = { "COUNTS", .min = 24, .wrap = true },
};

/* What each budget counts. */
static const struct {
	const char *rule, *words;
} counted[] = {
	{ "budget.total", "hosts out of service in the whole fleet, whoever cordoned them" },
	{ "budget.domain", "hosts out of service in one rack, switch or other domain" },
	{ "budget.per_job", "hosts of one job that are out of service" },
	{ "budget.rate.manual", "recent cordons by hand, of the account that made the most" },
	{ "budget.rate", "recent automatic cordons" },
	{ "budget.deny", "hosts refusing jobs because of one signature" },
};

static int fetch(struct link *link, const struct request *request UNUSED, struct picture *ret,
		 struct err *err)
{
	return link_get(link, "/v1/breaker", &ret->document, err);
}

static char *count_at(const json_t *budget, const char *key)
{
	double n = number_at(budget, key);

	return isnan(n) ? xstrdup("-") : xasprintf("%.0f", n);
}

/* "budget.domain rack-3" belongs to "budget.domain". */
static const char *words_of(const char *rule)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(counted); i++) {
		if (starts_with(rule, counted[i].rule))
			return counted[i].words;
	}
	return "";
}

static void add(struct table *t, const json_t *budget, const struct page *page UNUSED)
{
	struct table_row *row = table_add(t);
	const char *account = raw_at(budget, "account");
	bool full = number_at(budget, "used") >= number_at(budget, "limit");

	row->paint = full ? (int)PAINT_WARN : (int)PAINT_GOOD;
	row->cells[COL_BUDGET] = text_at(budget, "rule");
	row->cells[COL_USED] = count_at(budget, "used");
	row->cells[COL_LIMIT] = count_at(budget, "limit");
	row->cells[COL_WORDS] =
		*account ? xasprintf("%s: %s", words_of(raw_at(budget, "rule")), account)
			 : xstrdup(words_of(raw_at(budget, "rule")));
}

/* Whether and why it is open; not clean. The caller frees it. */
static char *state_words(const json_t *breaker, const struct page *page)
{
	CLEANUP(freep) char *age = age_of_stamp(raw_at(breaker, "opened"), page->now_us);
	CLEANUP(freep) char *reset = age_of_stamp(raw_at(breaker, "reset"), page->now_us);

	if (json_is_true(json_object_get(breaker, "open")))
		return xasprintf("the breaker has been OPEN since %s (%s): %s; nothing is cordoned "
				 "until `assayctl breaker reset --reason ...`, releases continue",
				 raw_at(breaker, "opened"), age, raw_at(breaker, "reason"));
	if (*raw_at(breaker, "reset"))
		return xasprintf("the breaker is closed, reset %s by %s", reset,
				 raw_at(breaker, "reset_by"));
	return xstrdup("the breaker is closed");
}

static char *summary(const struct picture *picture, const struct page *page)
{
	const json_t *breaker = picture->document;
	const char *mode = raw_at(breaker, "mode");
	CLEANUP(freep) char *words = state_words(breaker, page);
	const char *stale = raw_at(breaker, "stale");
	CLEANUP(freep)
	char *all = xasprintf("%s; mode %s%s%s%s", words, mode,
			      streq(mode, "enforce") ? "" : ": decisions are shown, not carried out",
			      *stale ? "; NOTHING IS DONE: " : "", stale);

	return utf8_clean(all);
}

static void show(const struct picture *picture, struct page *page)
{
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };

	items_show(json_object_get(picture->document, "budget"), &t, add, page);
}

const struct view view_breaker = { fetch, summary, show, NULL };
