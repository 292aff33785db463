/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rhythm/rhythm_words.h"

#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

static const char *const kind_names[RHYTHM_KINDS] = { "rnic", "gpu" };
static const char *const units[RHYTHM_KINDS] = { "B/s", "busy" };

static json_t *row_of(enum rhythm_kind kind, const char *name, const struct rhythm *r)
{
	/* Busy time per time is a fraction. */
	const double rate = kind == RHYTHM_GPUS ? r->rate / USEC_PER_SEC : r->rate;

	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:f, s:b, s:o, s:o}", "kind",
			 kind_names[kind], "name", name, "unit", units[kind], "rate",
			 json_number(rate), "period_s", json_number(r->period_s), "strength",
			 json_number(r->strength), "still_s", r->still_s, "stopped", (int)r->stopped,
			 "changed_s", json_number(r->changed_s), "change", json_number(r->change));
}

static void say_missing(json_t *missing, const char *fmt, ...) PRINTF(2, 3);

static void say_missing(json_t *missing, const char *fmt, ...)
{
	va_list args;
	json_t *text;

	va_start(args, fmt);
	text = json_vsprintf(fmt, args);
	va_end(args);
	(void)json_array_append_new(missing, text ? text : json_string("not told"));
}

void rhythm_words_rows(enum rhythm_kind kind, const struct rhythm_set *set, json_t *rows,
		       json_t *missing)
{
	struct rhythm_sample *samples;
	size_t i, k;

	if (!set) {
		say_missing(missing, "%s: a read of its counters did not return", kind_names[kind]);
		return;
	}
	if (set->why[0])
		say_missing(missing, "%s: %s", kind_names[kind], set->why);
	samples = xcalloc(RHYTHM_SAMPLES_MAX, sizeof(*samples));
	for (i = 0; i < set->n_counters; i++) {
		const struct rhythm_counter *c = &set->counters[i];
		struct rhythm rhythm;

		for (k = 0; k < c->n; k++)
			samples[k] = (struct rhythm_sample){ set->at_us[k], c->totals[k] };
		if (rhythm_of(samples, c->n, &rhythm) == 0)
			(void)json_array_append_new(rows, row_of(kind, c->name, &rhythm));
		if (c->lost)
			say_missing(missing, "%s: its counter could be read only %zu times",
				    c->name, c->n);
	}
	free(samples);
}

json_t *rhythm_words_document(double seconds, uint64_t every_us, json_t *rows, json_t *missing)
{
	return json_pack("{s:s, s:f, s:I, s:o, s:o}", "format", "assay-rhythm/1", "seconds",
			 seconds, "every_ms", (json_int_t)(every_us / USEC_PER_MSEC), "counters",
			 rows, "missing", missing);
}

/* --- output for people --- */

static const struct table_column columns[] = {
	{ "COUNTER", .min = 8 },
	{ "RATE", .right = true },
	{ "PERIOD", .right = true },
	{ "STILL FOR", .right = true },
	{ "CHANGE", .min = 8, .leave = 1 },
};

static char *rate_text(const json_t *row)
{
	const double rate = json_real_value(json_object_get(row, "rate"));

	return streq(json_string_value(json_object_get(row, "unit")), "busy")
		       ? xasprintf("%.0f %% busy", rate * 100)
		       : xasprintf("%.3g GB/s", rate / 1e9);
}

/* A number with a unit; "-" if there is none. */
static char *real_text(const json_t *row, const char *key, const char *unit)
{
	const json_t *value = json_object_get(row, key);

	return json_is_real(value) ? xasprintf("%.3g %s", json_real_value(value), unit)
				   : xstrdup("-");
}

static char *change_text(const json_t *row)
{
	const json_t *change = json_object_get(row, "change");

	if (!json_is_real(change))
		return xstrdup("-");
	return xasprintf("%+.0f %% %.0f s ago", 100 * (json_real_value(change) - 1),
			 json_real_value(json_object_get(row, "changed_s")));
}

void rhythm_words_table(const json_t *document, FILE *out, bool colour, unsigned width)
{
	CLEANUP(table_release)
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };
	const json_t *row;
	size_t i;

	json_array_foreach(json_object_get(document, "counters"), i, row)
	{
		const bool stopped = json_is_true(json_object_get(row, "stopped"));
		struct table_row *line = table_add(&t);

		line->cells[0] = xstrdup(json_string_value(json_object_get(row, "name")));
		line->cells[1] = rate_text(row);
		line->cells[2] = real_text(row, "period_s", "s");
		line->cells[3] = real_text(row, "still_s", stopped ? "s, stopped" : "s");
		line->cells[4] = change_text(row);
		line->paint = TABLE_NONE;
	}
	if (t.n_rows)
		(void)table_print(&t, out, colour, width);
	json_array_foreach(json_object_get(document, "missing"), i, row)
		text_wrap(json_string_value(row), out, 0, width);
}
