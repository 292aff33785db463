/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assay/show_run.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/xalloc.h"
#include "lib/judge/link_words.h"
#include "lib/judge/verdict_counts.h"
#include "lib/judge/verdict_item.h"
#include "lib/report/host_parts_words.h"
#include "lib/report/report.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

/* At least this many passing items of one check share a line. */
enum { FOLD_FROM = 3 };

enum { COL_VERDICT, COL_CHECK, COL_SUBJECT, COL_VALUE, COL_EXPECTED, COL_FLOOR, COL_FROM, N_COLS };

static const struct table_column columns[N_COLS] = {
	[COL_VERDICT] = { "VERDICT" },
	[COL_CHECK] = { "CHECK", .min = 10 },
	[COL_SUBJECT] = { "SUBJECT", .min = 10 },
	[COL_VALUE] = { "VALUE", .right = true },
	[COL_EXPECTED] = { "EXPECTED", .right = true, .leave = 3 },
	[COL_FLOOR] = { "FLOOR", .right = true, .leave = 2 },
	[COL_FROM] = { "FROM", .leave = 1 },
};

static const enum paint paints[] = {
	[COUNT_PASS] = PAINT_GOOD,
	[COUNT_MEASURED] = PAINT_DIM,
	[COUNT_INCONCLUSIVE] = PAINT_UNSURE,
	[COUNT_WARN] = PAINT_WARN,
	[COUNT_FAIL] = PAINT_BAD,
};

/* For FROM; items that were not judged have none. */
static const char *const source_words[] = {
	[SOURCE_FLEET] = "fleet", [SOURCE_SKU] = "sku",	   [SOURCE_HISTORY] = "history",
	[SOURCE_PEERS] = "peers", [SOURCE_SELF] = "probe",
};

unsigned show_width(FILE *out)
{
	const char *asked = getenv("COLUMNS");

	/* Pipes accept lines of any length, unless a width is requested. */
	return isatty(fileno(out)) || (asked && *asked) ? term_width(out) : UINT_MAX;
}

/* Like memory sizes: in powers of 1024. */
static char *bytes(double value)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(units) && value >= 1024) {
		value /= 1024;
		i++;
	}
	return xasprintf("%.*f %s", i ? 1 : 0, value, units[i]);
}

/* "inventory.dimm_bytes" */
static bool counts_bytes(const struct verdict_item *item)
{
	static const char tail[] = "_bytes";
	const size_t length = strlen(item->check), of_tail = sizeof(tail) - 1;

	return length > of_tail && streq(item->check + length - of_tail, tail);
}

static char *number(const struct verdict_item *item, double value)
{
	char text[NUMBER_SIZE];

	if (counts_bytes(item) && value >= 0)
		return bytes(value);
	number_format(value, item->unit, text);
	return xstrdup(text);
}

/* "39.1..40.2 GFLOP/s", with both units only if they differ. */
static char *range(const struct verdict_item *item, double low, double high)
{
	CLEANUP(freep) char *a = number(item, low);
	CLEANUP(freep) char *b = number(item, high);
	const char *unit_a = strchr(a, ' ');
	const char *unit_b = strchr(b, ' ');

	if (streq(a, b))
		return TAKE(a);
	if (streq(unit_a, unit_b))
		return xasprintf("%.*s..%s", (int)strcspn(a, " "), a, b);
	return xasprintf("%s .. %s", a, b);
}

static bool same_line(const struct verdict_item *a, const struct verdict_item *b)
{
	return verdict_count_of(a) == verdict_count_of(b) && streq(a->check, b->check) &&
	       streq(a->unit, b->unit) && streq(a->link, b->link);
}

/* Number of items before `i` on the same line. */
static size_t count_before(const struct verdict *v, size_t i)
{
	size_t n = 0, j;

	for (j = 0; j < i; j++)
		n += same_line(&v->items[j], &v->items[i]);
	return n;
}

static size_t count_all(const struct verdict *v, size_t i)
{
	size_t n = 0, j;

	for (j = 0; j < v->n_items; j++)
		n += same_line(&v->items[j], &v->items[i]);
	return n;
}

static void name(struct table_row *row, const struct verdict_item *item)
{
	const enum verdict_count count = verdict_count_of(item);

	row->paint = (int)paints[count];
	row->cells[COL_VERDICT] = xstrdup(verdict_count_names[count]);
	row->cells[COL_CHECK] = xstrdup(item->check);
}

static void fill(struct table_row *row, const struct verdict_item *item)
{
	name(row, item);
	if (!isnan(item->expected))
		row->cells[COL_EXPECTED] = number(item, item->expected);
	if (!isnan(item->floor))
		row->cells[COL_FLOOR] = number(item, item->floor);
	row->cells[COL_FROM] = xstrdup(item->unjudged ? "-" : source_words[item->source]);
}

static void add_item(struct table *t, const struct verdict_item *item,
		     const struct host_parts *parts)
{
	struct table_row *row = table_add(t);

	fill(row, item);
	row->cells[COL_SUBJECT] = host_parts_words(parts, item->subject);
	row->cells[COL_VALUE] = number(item, item->value);
	if (item->level != VERDICT_PASS)
		row->note = xstrdup(item->sentence);
}

/* One line for all items like the one at `i`: their number and range. */
static void add_fold(struct table *t, const struct verdict *v, size_t i)
{
	struct table_row *row = table_add(t);
	struct verdict_item whole = v->items[i];
	double low = NAN, high = NAN;
	size_t n = 0, j;

	for (j = i; j < v->n_items; j++) {
		const struct verdict_item *item = &v->items[j];

		if (!same_line(item, &whole))
			continue;
		n++;
		low = fmin(low, item->value); /* fmin() of NAN and a number is the number */
		high = fmax(high, item->value);
		if (item->expected != whole.expected)
			whole.expected = NAN;
		if (item->floor != whole.floor)
			whole.floor = NAN;
	}
	fill(row, &whole);
	row->cells[COL_SUBJECT] = xasprintf("all %zu", n);
	row->cells[COL_VALUE] = range(&whole, low, high);
}

/* Cells of a check that a slow link explains: not findings of their own. */
static void add_explained(struct table *t, const struct verdict *v, size_t i,
			  const struct host_parts *parts)
{
	CLEANUP(freep) char *link = link_name(v->items[i].link);
	CLEANUP(freep) char *name = host_parts_words(parts, link);

	add_fold(t, v, i);
	t->rows[t->n_rows - 1].note = xasprintf("%s explains them", name);
}

static void add_rest(struct table *t, const struct verdict_item *item, size_t n)
{
	struct table_row *row = table_add(t);

	name(row, item);
	row->cells[COL_SUBJECT] = xasprintf("and %zu more", n);
}

static void add_items(struct table *t, const struct verdict *v, const struct host_parts *parts)
{
	size_t i;

	for (i = 0; i < v->n_items; i++) {
		const struct verdict_item *item = &v->items[i];
		size_t before = count_before(v, i);
		size_t all = count_all(v, i);

		if (all > 1 && verdict_explained(v, item)) {
			if (before == 0)
				add_explained(t, v, i, parts);
		} else if (item->level == VERDICT_PASS && all >= FOLD_FROM) {
			if (before == 0)
				add_fold(t, v, i);
		} else if (before < SHOW_ITEMS_MAX) {
			add_item(t, item, parts);
		} else if (before == SHOW_ITEMS_MAX) {
			add_rest(t, item, all - before);
		}
	}
}

/* What the whole run counts as: if nothing was judged, only measured, it is not a pass. */
static enum verdict_count count_of(const struct verdict *v)
{
	size_t counts[COUNTS];
	const struct verdict_item whole = { .level = v->level };

	verdict_count(v, counts);
	return counts[COUNT_MEASURED] && counts[COUNT_MEASURED] == v->n_items
		       ? COUNT_MEASURED
		       : verdict_count_of(&whole);
}

static void print_head(const struct report *report, const struct verdict *v, FILE *out, bool colour)
{
	const enum verdict_count count = count_of(v);
	char word[16];
	size_t i;

	(void)snprintf(word, sizeof(word), "%s", verdict_count_names[count]);
	for (i = 0; word[i]; i++)
		word[i] = (char)(word[i] - ('a' <= word[i] && word[i] <= 'z' ? 'a' - 'A' : 0));
	(void)fprintf(out, "%s%s%s  %s, %s, %s, %.1f s", paint_on(colour, paints[count]), word,
		      paint_off(colour), report->node, report->profile, report->time,
		      report->duration_s);
	if (report->seq)
		(void)fprintf(out, ", run %" PRIu64, report->seq);
	(void)fputs("\n\n", out);
}

/* The detail is often the last message of the probe, without its name: print it only once. */
static bool says_all(const struct problem *p)
{
	const char *words = p->err_tail ? p->err_tail : "";
	CLEANUP(freep) char *name = xasprintf("assay-probe-%s: ", p->probe);
	CLEANUP(freep) char *line = NULL;
	size_t length;

	if (starts_with(words, name))
		words += strlen(name);
	length = strcspn(words, "\n");
	line = xstrndup(words, length);
	return words[length + strspn(words + length, "\n")] == '\0' &&
	       (length == 0 || (p->detail && strstr(p->detail, line)));
}

/* Why a probe produced no or too few samples. */
static const char *const problem_words[] = {
	[PROBLEM_TIMEOUT] = "took too long",
	[PROBLEM_CRASHED] = "crashed",
	[PROBLEM_EXIT] = "failed",
	[PROBLEM_GARBAGE] = "printed output that cannot be read",
	[PROBLEM_TOO_MUCH] = "printed too much",
	[PROBLEM_EMPTY] = "printed nothing",
	[PROBLEM_NOT_EXECUTABLE] = "could not be started",
	[PROBLEM_NOT_APPLICABLE] = "nothing to measure",
	[PROBLEM_SET_UP] = "could not be set up",
	[PROBLEM_BUSY] = "not run",
};

static void print_problems(const struct report *report, FILE *out, unsigned width)
{
	size_t i;

	if (report->n_problems)
		(void)fputs("\nnot measured\n", out);
	for (i = 0; i < report->n_problems; i++) {
		const struct problem *p = &report->problems[i];
		CLEANUP(freep)
		char *line = xasprintf("%s: %s%s%s", p->probe, problem_words[p->code],
				       p->detail ? ": " : "", p->detail ? p->detail : "");

		text_wrap(line, out, 2, width);
		if (!says_all(p))
			text_wrap(p->err_tail, out, 6, width);
	}
}

/* The sentence of a pass includes the count; that of a finding does not. */
static void print_unjudged(const struct verdict *v, FILE *out, unsigned width)
{
	CLEANUP(freep) char *line = NULL;
	size_t counts[COUNTS];

	verdict_count(v, counts);
	if (v->level == VERDICT_PASS || counts[COUNT_MEASURED] == 0)
		return;
	line = xasprintf("%zu of %zu checks measured, not judged: nothing to compare with",
			 counts[COUNT_MEASURED], v->n_items);
	text_wrap(line, out, 0, width);
}

void show_run(const struct report *report, const struct verdict *verdict,
	      const struct host_parts *parts, FILE *out, bool colour, unsigned width)
{
	CLEANUP(table_release)
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };

	print_head(report, verdict, out, colour);
	add_items(&t, verdict, parts);
	if (t.n_rows)
		table_print(&t, out, colour, width);
	else
		(void)fputs("nothing was measured\n", out);
	print_problems(report, out, width);
	(void)fputc('\n', out);
	text_wrap(verdict->sentence ? verdict->sentence : "", out, 0, width);
	print_unjudged(verdict, out, width);
}

void show_line(const struct verdict *verdict, enum exit_style style, FILE *out)
{
	static const char *const nagios[] = {
		[VERDICT_PASS] = "OK",
		[VERDICT_INCONCLUSIVE] = "UNKNOWN",
		[VERDICT_WARN] = "WARNING",
		[VERDICT_FAIL] = "CRITICAL",
	};
	CLEANUP(freep) char *line = NULL;

	if (style == EXIT_NHC && verdict->level != VERDICT_FAIL)
		return;
	if (style == EXIT_NAGIOS)
		line = xasprintf("ASSAY %s - %s", nagios[verdict->level], verdict->sentence);
	else if (style == EXIT_NHC)
		line = xasprintf("ERROR: assay: %s", verdict->sentence);
	else
		line = xstrdup(verdict->sentence);
	text_wrap(line, out, 0, (unsigned)strlen(line) + 1);
}
