/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/forms.h"

#include "attribution/form_kinds.h"
#include "lib/json/json.h"

/* Write the document, or {"windows": [...]} for a trace that was split. */
static void write_json(const struct attribution *attribution, size_t i, bool more, FILE *out)
{
	CLEANUP(json_freep) json_t *doc = attribution_document(attribution);

	if (i == 0 && more)
		(void)fputs("{\"windows\": [\n", out);
	(void)json_dumpf(doc, out,
			 JSON_INDENT(1) | JSON_SORT_KEYS | JSON_REAL_PRECISION(ATTRIBUTION_DIGITS));
	(void)fputs(more ? ",\n" : i ? "\n]}\n" : "\n", out);
}

static const struct form forms[] = {
	{ "json", write_json },
	{ "table", form_table },
	{ "heatmap", form_heatmap },
	{ "timeline", form_timeline },
};

const struct form *form_find(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		if (streq(forms[i].name, name))
			return &forms[i];
	}
	return NULL;
}

const struct form *form_default(void)
{
	return &forms[0];
}
