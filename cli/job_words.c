/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/job_words.h"

#include <math.h>
#include <stdlib.h>

#include "cli/view.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

enum { HOSTS_SHOWN = 8, LABEL_COLUMNS = 12 };

/* In the order of attention needed. */
static const struct {
	const char *name;
	enum paint paint;
} states[] = {
	{ "hung", PAINT_BAD },	       { "stands still", PAINT_BAD },
	{ "suspected", PAINT_BAD },    { "watched", PAINT_WARN },
	{ "slow", PAINT_WARN },	       { "owner informed", PAINT_WARN },
	{ "lapsed", PAINT_UNSURE },    { "rejected", PAINT_UNSURE },
	{ "acquitted", PAINT_UNSURE }, { "waiting", PAINT_UNSURE },
	{ "healthy", PAINT_GOOD },
};

char *job_words_hosts(const json_t *hosts)
{
	size_t n = json_array_size(hosts), i;
	char *text = xstrdup(n ? "" : "-");

	for (i = 0; i < MIN(n, (size_t)HOSTS_SHOWN); i++) {
		const char *name = json_string_value(json_array_get(hosts, i));
		CLEANUP(freep) char *before = text;
		CLEANUP(freep) char *clean = utf8_clean(name ? name : "-");

		text = xasprintf("%s%s%s", before, i ? ", " : "", clean);
	}
	if (n > HOSTS_SHOWN) {
		CLEANUP(freep) char *before = text;

		text = xasprintf("%s and %zu more", before, n - HOSTS_SHOWN);
	}
	return text;
}

static char *interval(double value, double low, double high, int decimals)
{
	if (isnan(value))
		return xstrdup("-");
	if (isnan(low) || isnan(high))
		return xasprintf("%.*f", decimals, value);
	return xasprintf("%.*f [%.*f, %.*f]", decimals, value, decimals, low, decimals, high);
}

char *job_words_interval(double value, double low, double high)
{
	return interval(value, low, high, 2);
}

char *job_words_range(const json_t *range, int decimals)
{
	return interval(number_at(range, "value"), number_at(range, "low"),
			number_at(range, "high"), decimals);
}

char *job_words_speed(const json_t *suspect)
{
	const json_t *speed = json_object_get(suspect, "speed");
	const double now = number_at(speed, "now"), tested = number_at(speed, "tested");

	if (isnan(now))
		return xstrdup("");
	if (isnan(tested))
		return xasprintf("; it computes at %.0f %% of what is usual for its model",
				 100 * now);
	return xasprintf("; it computes at %.0f %% of what is usual for its model, and its own "
			 "tests ran at %.0f %%",
			 100 * now, 100 * tested);
}

char *job_words_slowdown(const json_t *object)
{
	return job_words_interval(number_at(object, "slowdown"), number_at(object, "slowdown_low"),
				  number_at(object, "slowdown_high"));
}

char *job_words_count(const json_t *object, const char *key)
{
	double n = number_at(object, key);

	return isnan(n) ? xstrdup("-") : xasprintf("%.0f", n);
}

void job_words_put(const struct page *page, const char *label, const char *text, int paint)
{
	CLEANUP(freep) char *lines = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&lines, &size);

	if (!memory)
		return;
	text_wrap(text, memory, LABEL_COLUMNS, page->width);
	if (fclose(memory) != 0 || size < LABEL_COLUMNS)
		return;
	(void)fprintf(page->out, "%s%-*s%s%s",
		      paint == TABLE_NONE ? "" : paint_on(page->colour, (enum paint)paint),
		      LABEL_COLUMNS, label, paint_off(page->colour && paint != TABLE_NONE),
		      lines + LABEL_COLUMNS);
}

/* What was tested; for the whole host, how much that covers. Borrowed from the test. */
static const char *what_of(const json_t *test)
{
	const char *check = raw_at(test, "check"), *profile = raw_at(test, "profile");

	if (*check)
		return check;
	return *profile && !streq(profile, "full") ? profile : "all of the host";
}

char *job_words_test(const json_t *test, const char *open, const struct page *page)
{
	CLEANUP(freep) char *node = text_at(test, "node");
	CLEANUP(freep) char *result = text_at(test, "result");
	CLEANUP(freep) char *what = utf8_clean(what_of(test));
	CLEANUP(freep) char *ordered = age_of_stamp(raw_at(test, "ordered"), page->now_us);

	return xasprintf("%s: %s, ordered %s: %s", node, what_of(test), ordered,
			 *raw_at(test, "result") ? result : open);
}

bool job_words_is_suspected(const json_t *suspect)
{
	return number_at(suspect, "hits") > 0 || json_is_true(json_object_get(suspect, "counts"));
}

static size_t place_of(const char *state)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(states) && !streq(states[i].name, state); i++)
		;
	return i;
}

int job_words_rank(const char *state)
{
	size_t i = place_of(state);

	return i < ARRAY_SIZE(states) ? (int)i : 0;
}

int job_words_paint(const char *state)
{
	size_t i = place_of(state);

	if (i < ARRAY_SIZE(states))
		return (int)states[i].paint;
	return *state ? (int)PAINT_BAD : (int)PAINT_UNSURE;
}
