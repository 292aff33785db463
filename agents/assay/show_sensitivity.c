/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assay/show_sensitivity.h"

#include <math.h>

#include "lib/base/xalloc.h"
#include "lib/judge/sensitivity.h"
#include "lib/report/host_parts_words.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

static const char legend[] =
	"SEES: the smallest loss, from the present value, that makes the next run warn; FAILS AT: "
	"the one that makes it fail. - is a drop, + a rise (where lower is better). NOISE: the "
	"spread between repeated runs or, if there is only one, within it.";

enum {
	COL_CHECK,
	COL_CLASS,
	COL_SUBJECTS,
	COL_SEES,
	COL_FAILS,
	COL_NOISE,
	COL_BY,
	COL_NEEDS,
	N_COLS
};

static const struct table_column columns[N_COLS] = {
	[COL_CHECK] = { "CHECK", .min = 22 },
	[COL_CLASS] = { "CLASS", .leave = 2 },
	[COL_SUBJECTS] = { "SUBJECTS", .min = 6, .leave = 4 },
	[COL_SEES] = { "SEES", .min = 20 },
	[COL_FAILS] = { "FAILS AT", .min = 6, .leave = 5 },
	[COL_NOISE] = { "NOISE", .right = true, .leave = 1 },
	[COL_BY] = { "BY", .min = 5, .leave = 3 },
	[COL_NEEDS] = { "NEEDS", .min = 24, .wrap = true },
};

/* Text in SEES if no loss is given. */
static const char *const words_of_sense[] = {
	[SENSE_NOT_MEASURED] = "not measured",
	[SENSE_RECORDED] = "measured, not judged",
	[SENSE_NOTHING] = "measured, not judged",
	[SENSE_PROBE] = "what the probe calls bad",
	[SENSE_COMPARED] = "nothing",
};

static enum sense sense_of(const json_t *row)
{
	const char *name = json_string_value(json_object_get(row, "sense"));
	size_t i;

	for (i = 0; sense_names[i]; i++) {
		if (streq(sense_names[i], name))
			return (enum sense)i;
	}
	return SENSE_NOTHING;
}

static double number_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static long long count_of(const json_t *row, const char *key)
{
	return json_integer_value(json_object_get(row, key));
}

/* "-5.0 %", three digits; a loss of 0 means that a count is short by any amount. */
static char *percent_of(const json_t *row, const json_t *loss)
{
	const bool lower = streq(json_string_value(json_object_get(row, "better")), "lower");
	const double percent = number_of(loss, "percent");

	if (number_of(loss, "amount") == 0)
		return xstrdup(count_of(row, "named") > 0 ? "named now" : "any");
	if (isnan(percent))
		return xstrdup("any");
	return xasprintf("%s%.*f %%", lower ? "+" : "-", percent < 99.95 ? 1 : 0, percent);
}

/* With the amount in the check's unit, if that is more than a count. */
static char *loss_of(const json_t *row, const json_t *loss)
{
	CLEANUP(freep) char *percent = percent_of(row, loss);
	const char *unit = json_string_value(json_object_get(row, "unit"));
	const double amount = number_of(loss, "amount");
	char text[NUMBER_SIZE];

	if (!(amount > 0))
		return TAKE(percent);
	number_format(amount, unit, text);
	return xasprintf("%s, %s", percent, text);
}

static char *subjects_of(const json_t *row)
{
	const long long n = count_of(row, "subjects"), measured = count_of(row, "measured");
	const long long named = count_of(row, "named");
	CLEANUP(freep) char *low = named ? xasprintf(", %lld low", named) : NULL;

	if (n == 0)
		return xstrdup("-");
	if (measured < n)
		return xasprintf("%lld of %lld%s", measured, n, low ? low : "");
	return xasprintf("%lld%s", n, low ? low : "");
}

static char *noise_of(const json_t *row)
{
	const json_t *noise = json_object_get(row, "noise");
	const double runs = number_of(noise, "between_runs_percent");
	const double percent = isnan(runs) ? number_of(noise, "within_run_percent") : runs;

	return isnan(percent) ? NULL : xasprintf("%.1f %%", percent);
}

/* "peers+sku": those that detect the smallest loss. */
static char *sources_of(const json_t *loss)
{
	const json_t *by = json_object_get(loss, "by"), *name;
	CLEANUP(freep) char *text = NULL;
	size_t i;

	json_array_foreach(by, i, name)
	{
		CLEANUP(freep) char *before = TAKE(text);

		text = xasprintf("%s%s%s", before ? before : "", before ? "+" : "",
				 json_string_value(name));
	}
	return TAKE(text);
}

static char *words_for(const json_t *row, enum sense sense)
{
	if (sense == SENSE_NOT_MEASURED && count_of(row, "subjects") == 0)
		return xstrdup("not measured here yet");
	return xstrdup(words_of_sense[sense]);
}

static void add_row(struct table *t, const json_t *check, const struct host_parts *parts)
{
	const json_t *warns = json_object_get(check, "warns"),
		     *fails = json_object_get(check, "fails");
	const char *class = json_string_value(json_object_get(check, "class"));
	const enum sense sense = sense_of(check);
	struct table_row *row = table_add(t);
	const bool sees = json_is_object(warns);

	row->cells[COL_CHECK] = xstrdup(json_string_value(json_object_get(check, "check")));
	row->cells[COL_CLASS] = xstrdup(class ? class : "-");
	row->cells[COL_SUBJECTS] = subjects_of(check);
	row->cells[COL_SEES] = sees ? loss_of(check, warns) : words_for(check, sense);
	row->cells[COL_FAILS] = json_is_object(fails) ? percent_of(check, fails) : xstrdup("-");
	row->cells[COL_NOISE] = noise_of(check);
	row->cells[COL_BY] = sees ? sources_of(warns)
				  : xstrdup(sense == SENSE_PROBE ? "probe" : "-");
	row->cells[COL_NEEDS] =
		host_parts_words(parts, json_string_value(json_object_get(check, "needs")));
	row->paint = sees || sense == SENSE_PROBE ? PAINT_BOLD : PAINT_DIM;
}

/* At least this many checks that a probe did not measure for the same reason share a row. */
enum { FOLD_FROM = 3 };

/* The part before the dot: "gpu" in "gpu.xid". */
static bool same_family(const char *a, const char *b)
{
	const size_t length = strcspn(a, ".");

	return length == strcspn(b, ".") && strncmp(a, b, length) == 0;
}

/* Number of rows from `i` on with the same text about unmeasured checks. */
static size_t count_unmeasured(const json_t *checks, size_t i)
{
	const json_t *first = json_array_get(checks, i);
	const char *check = json_string_value(json_object_get(first, "check"));
	const json_t *needs = json_object_get(first, "needs");
	size_t n = 0;

	for (; i + n < json_array_size(checks); n++) {
		const json_t *row = json_array_get(checks, i + n);

		if (sense_of(row) != SENSE_NOT_MEASURED || count_of(row, "subjects") ||
		    !same_family(check, json_string_value(json_object_get(row, "check"))) ||
		    !json_equal(needs, json_object_get(row, "needs")))
			break;
	}
	return n;
}

static void add_unmeasured(struct table *t, const json_t *check, size_t n)
{
	const char *name = json_string_value(json_object_get(check, "check"));
	struct table_row *row = table_add(t);

	row->cells[COL_CHECK] = xasprintf("%.*s.*", (int)strcspn(name, "."), name);
	row->cells[COL_CLASS] = xstrdup("-");
	row->cells[COL_SUBJECTS] = xstrdup("-");
	row->cells[COL_SEES] = xasprintf("%zu not measured here yet", n);
	row->cells[COL_FAILS] = xstrdup("-");
	row->cells[COL_BY] = xstrdup("-");
	row->cells[COL_NEEDS] = xstrdup(json_string_value(json_object_get(check, "needs")));
	row->paint = PAINT_DIM;
}

void show_sensitivity(const json_t *value, FILE *out, bool colour, unsigned width)
{
	CLEANUP(table_release)
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };
	CLEANUP(host_parts_release) struct host_parts parts = { 0 };
	const json_t *checks = json_object_get(value, "checks");
	size_t n, i;

	host_parts_decode(json_object_get(value, "parts"), &parts);
	for (i = 0; i < json_array_size(checks); i += MAX(n, (size_t)1)) {
		n = count_unmeasured(checks, i);
		if (n >= FOLD_FROM) {
			add_unmeasured(&t, json_array_get(checks, i), n);
			continue;
		}
		n = 1;
		add_row(&t, json_array_get(checks, i), &parts);
	}
	table_print(&t, out, colour, width);
	(void)fputc('\n', out);
	text_wrap(legend, out, 0, width < 100 ? width : 100);
}
