/* SPDX-License-Identifier: Apache-2.0 */
/* Formats values of untrusted JSON as text. */
#include <math.h>
#include <stdlib.h>

#include "cli/view.h"
#include "lib/base/duration.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/json/kv.h"
#include "lib/sys/term.h"

const char *raw_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

char *text_at(const json_t *object, const char *key)
{
	const char *text = raw_at(object, key);

	return utf8_clean(*text ? text : "-");
}

double number_at(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

char *quantity(double value, const char *unit)
{
	char text[NUMBER_SIZE];

	number_format(value, unit && *unit ? unit : "1", text);
	return utf8_clean(text);
}

char *ratio(double value, double expected)
{
	if (isnan(value) || isnan(expected) || !(expected > 0))
		return xstrdup("-");
	return xasprintf("%.3g %%", 100 * value / expected);
}

char *age_of_seconds(double seconds)
{
	static const struct {
		double size;
		char name;
	} units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' } };
	size_t i;

	if (isnan(seconds))
		return xstrdup("-");
	/* A unit is used from two on: "90s" says more than "1m". */
	for (i = 0; i < ARRAY_SIZE(units); i++) {
		if (seconds >= 2 * units[i].size)
			return xasprintf("%.0f%c ago", floor(seconds / units[i].size),
					 units[i].name);
	}
	return seconds < 1 ? xstrdup("now") : xasprintf("%.0fs ago", floor(seconds));
}

char *age_of_stamp(const char *stamp, uint64_t now_us)
{
	uint64_t us = 0;

	if (!stamp || clock_parse_stamp(stamp, &us) < 0)
		return xstrdup("-");
	return age_of_seconds(now_us > us ? (double)(now_us - us) / 1e6 : 0);
}

char *view_moment(const char *stamp, uint64_t now_us)
{
	char text[CLOCK_STAMP_SIZE];
	uint64_t us = 0;

	if (!stamp || clock_parse_stamp(stamp, &us) < 0)
		return xstrdup("-");
	duration_until(us, now_us, text);
	return xstrdup(text);
}

static const struct {
	const char *name;
	enum paint paint;
} levels[] = {
	{ "fail", PAINT_BAD },
	{ "warn", PAINT_WARN },
	{ "inconclusive", PAINT_UNSURE },
	{ "pass", PAINT_GOOD },
};

int rank_of_level(const char *level)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(levels) && !streq(levels[i].name, level); i++)
		;
	return (int)i;
}

int paint_of_level(const char *level)
{
	size_t i = (size_t)rank_of_level(level);

	return i < ARRAY_SIZE(levels) ? (int)levels[i].paint : (int)PAINT_UNSURE;
}

const char *sentence_of(const json_t *object, const char *level)
{
	const char *sentence = raw_at(object, "sentence");
	size_t length = strlen(level);

	if (*level && starts_with(sentence, level) && starts_with(sentence + length, ": "))
		return sentence + length + 2;
	return sentence;
}

char *marked(const struct page *page, const char *text, const char *key)
{
	bool changed = page->changed && key && json_object_get(page->changed, key);

	return xasprintf("%s%s", text, changed ? " *" : "");
}

/* --- for programs --- */

/* Print `text`, JSON or a line of it, with unsafe characters as \uXXXX. */
static void print_escaped(const char *text, FILE *out)
{
	while (*text) {
		size_t n = utf8_length(text);
		uint32_t point = n ? utf8_point(text, n) : (unsigned char)*text;

		if (n && (*text == '\n' || !utf8_is_unsafe(point)))
			(void)fwrite(text, 1, n, out);
		else if (point < 0x10000)
			(void)fprintf(out, "\\u%04X", (unsigned)point);
		else
			(void)fprintf(out, "\\u%04X\\u%04X",
				      (unsigned)(0xd800 + ((point - 0x10000) >> 10)),
				      (unsigned)(0xdc00 + (point & 0x3ff)));
		text += n ? n : 1;
	}
}

void print_json(const json_t *value, FILE *out, bool pretty)
{
	CLEANUP(freep) char *text = pretty ? json_pretty(value) : json_line(value);

	print_escaped(text, out);
	(void)fputc('\n', out);
}

void print_kv(const json_t *value, FILE *out)
{
	CLEANUP(freep) char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return;
	kv_print(value, memory);
	if (fclose(memory) == 0)
		print_escaped(text, out);
}
