/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/outlook_show.h"

#include <math.h>

#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"

enum { INDENT = 2 };

static double real(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static char *text(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return utf8_clean(s ? s : "");
}

/* In whole steps of the job; "-" if it gains but the cost is unknown. */
static char *pays(const json_t *one)
{
	const json_t *steps = json_object_get(one, "pays_steps");
	const bool priced = json_is_number(json_object_get(one, "cost_s"));
	const double n = ceil(json_number_value(steps));

	if (!json_is_number(steps))
		return xstrdup(priced || real(one, "gain_s") <= 0 ? "never" : "-");
	return n == 0 ? xstrdup("at once") : xasprintf("%.0f step%s", n, n == 1 ? "" : "s");
}

static void show_list(const json_t *list, FILE *out, bool colour, unsigned width)
{
	static const struct table_column columns[] = {
		{ "REMEDY" },
		{ "STEP", .right = true },
		{ "SHORTER BY", .right = true },
		{ "COSTS", .right = true },
		{ "PAYS AFTER", .right = true },
		{ "WHAT", .wrap = true },
	};
	CLEANUP(table_release) struct table table = { columns, ARRAY_SIZE(columns), NULL, 0 };
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		struct table_row *row = table_add(&table);

		row->cells[0] = text(one, "kind");
		row->cells[1] = xasprintf("%.4g s", real(one, "after_s"));
		row->cells[2] = xasprintf("%.4g s", real(one, "gain_s"));
		row->cells[3] = json_is_number(json_object_get(one, "cost_s"))
					? xasprintf("%.3g s", real(one, "cost_s"))
					: xstrdup("-");
		row->cells[4] = pays(one);
		row->cells[5] = text(one, "note");
		row->paint = TABLE_NONE;
	}
	if (table.n_rows > 0)
		(void)table_print(&table, out, colour, width);
}

static void show_left_out(const json_t *left_out, FILE *out, unsigned width)
{
	size_t i;

	for (i = 0; i < json_array_size(left_out); i++) {
		const json_t *one = json_array_get(left_out, i);
		CLEANUP(freep) char *kind = text(one, "kind");
		CLEANUP(freep) char *why = text(one, "why");
		CLEANUP(freep) char *line = xasprintf("not %s: %s", kind, why);

		text_wrap(line, out, INDENT, width);
	}
}

void outlook_show(const json_t *doc, FILE *out, bool colour, unsigned width)
{
	const json_t *standby = json_object_get(doc, "standby");

	(void)fprintf(out,
		      "\nRemedies (experimental): a step takes %.4g s, of which its pipelines take "
		      "%.4g s; no "
		      "arrangement of them takes less than %.4g s\n",
		      real(doc, "now_s"), real(doc, "pipelines_s"), real(doc, "bound_s"));
	show_list(json_object_get(doc, "list"), out, colour, width);
	show_left_out(json_object_get(doc, "left_out"), out, width);
	if (standby)
		(void)fprintf(out,
			      "Spare hosts: %.0f are enough %.4g %% of the time; there are %.0f\n",
			      real(standby, "spares"), 100 * real(standby, "certainty"),
			      real(standby, "have"));
}
