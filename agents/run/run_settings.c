/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/run_settings.h"

#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/report/report.h"

/* A value of a setting, and how many subjects have it. Borrowed from the samples. */
struct value {
	const char *check, *text;
	size_t n;
};

static const char *setting_of(const struct sample *s)
{
	return json_string_value(json_object_get(s->params, "setting"));
}

static int compare_values(const void *a, const void *b)
{
	const struct value *x = a, *y = b;
	int r = strcmp(x->check, y->check);

	if (r)
		return r;
	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return strcmp(x->text, y->text);
}

/* Count each (check, text). Returns how many there are. */
static size_t count_values(const struct report *report, struct value *values)
{
	size_t n = 0, i, k;

	for (i = 0; i < report->n_samples; i++) {
		const struct sample *s = &report->samples[i];
		const char *text = setting_of(s);

		if (!text)
			continue;
		for (k = 0;
		     k < n && !(streq(values[k].check, s->check) && streq(values[k].text, text));
		     k++)
			;
		if (k == SETTINGS_MAX * SETTING_VALUES_MAX)
			continue;
		values[k].check = s->check;
		values[k].text = text;
		values[k].n++;
		n = MAX(n, k + 1);
	}
	return n;
}

/* Text for `n` values of one check. The caller frees it. */
static char *say(const struct value *values, size_t n)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(SETTING_TEXT_MAX);
	size_t i;

	for (i = 0; i < n && i < SETTING_VALUES_MAX && n > 1; i++)
		(void)strbuf_printf(&text, "%s%s (%zu)", i ? ", " : "", values[i].text, values[i].n);
	return n > 1 ? xstrdup(strbuf_text(&text)) : xstrndup(values[0].text, SETTING_TEXT_MAX);
}

void run_report_settings(struct report *report)
{
	CLEANUP(freep)
	struct value *values = xcalloc(SETTINGS_MAX * SETTING_VALUES_MAX, sizeof(*values));
	size_t n = count_values(report, values), i, first = 0;

	if (n == 0)
		return;
	if (!report->env)
		report->env = json_object();
	qsort(values, n, sizeof(*values), compare_values);
	for (i = 1; i <= n; i++) {
		CLEANUP(freep) char *text = NULL;

		if (i < n && streq(values[i].check, values[first].check))
			continue;
		text = say(&values[first], i - first);
		if (!json_object_get(report->env, values[first].check))
			(void)json_object_set_new(report->env, values[first].check,
						  json_string(text));
		first = i;
	}
}
