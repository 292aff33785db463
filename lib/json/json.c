/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

/* Enough for a FLOP count, and for a UNIX time with milliseconds. */
enum { REAL_DIGITS = 15 };

/*
 * The deepest nesting of brackets outside strings. jansson's own limit is a compile-time 2048, too
 * deep for recursion on untrusted input.
 */
static size_t nesting(const char *text, size_t len)
{
	size_t depth = 0, deepest = 0, i;
	bool in_string = false;

	for (i = 0; i < len; i++) {
		char c = text[i];

		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == '{' || c == '[') {
			depth++;
			deepest = MAX(deepest, depth);
		} else if ((c == '}' || c == ']') && depth) {
			depth--;
		}
	}
	return deepest;
}

int json_parse(const char *text, size_t len, const char *name, json_t **ret_value, struct err *err)
{
	json_error_t why;
	json_t *value;

	if (nesting(text, len) > JSON_DEPTH_MAX)
		return err_set(err, EINVAL, "%s: nested deeper than %d", name, JSON_DEPTH_MAX);
	/* JSON has no NUL bytes, but the library overlooks one that follows a number. */
	if (memchr(text, '\0', len))
		return err_set(err, EINVAL, "%s: a NUL byte", name);
	value = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
	if (!value)
		return err_set(err, EINVAL, "%s: line %d: %s", name, why.line, why.text);
	*ret_value = value;
	return 0;
}

int json_read_file(const char *path, size_t limit, json_t **ret_value, struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	size_t len;
	int r = file_read(AT_FDCWD, path, limit, &text, &len, err);

	return r < 0 ? r : json_parse(text, len, path, ret_value, err);
}

static char *dump(const json_t *value, size_t flags)
{
	char *text = json_dumps(value, flags | JSON_ENCODE_ANY | JSON_REAL_PRECISION(REAL_DIGITS));

	if (!text)
		abort(); /* only out of memory: our values are always valid */
	return text;
}

char *json_line(const json_t *value)
{
	return dump(value, JSON_COMPACT);
}

char *json_pretty(const json_t *value)
{
	return dump(value, JSON_INDENT(2));
}

void json_put(json_t *object, const char *key, json_t *value)
{
	(void)json_object_set_new(object, key, value);
}

json_t *json_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_seconds(double value)
{
	return json_number(round(value * USEC_PER_SEC) / USEC_PER_SEC);
}

json_t *json_count(size_t value)
{
	return json_integer((json_int_t)value);
}

json_t *json_text(const char *text)
{
	json_t *made = text ? json_string(text) : NULL;

	return made ? made : json_null();
}

json_t *json_stamp(uint64_t real_us)
{
	char text[CLOCK_STAMP_SIZE];

	if (real_us == 0)
		return json_null();
	clock_stamp(real_us, text);
	return json_string(text);
}

uint64_t json_stamp_us(const json_t *stamp)
{
	const char *text = json_string_value(stamp);
	uint64_t us = 0;

	return text && clock_parse_stamp(text, &us) == 0 ? us : 0;
}

uint64_t json_stamp_whole(uint64_t real_us)
{
	return real_us - real_us % USEC_PER_MSEC;
}

bool json_has_text(const json_t *array, const char *text)
{
	size_t i;

	for (i = 0; text && i < json_array_size(array); i++) {
		if (streq(json_string_value(json_array_get(array, i)), text))
			return true;
	}
	return false;
}

void json_insert_text(json_t *array, const char *text)
{
	size_t i = json_array_size(array);

	if (!text || json_has_text(array, text))
		return;
	while (i > 0 && strcmp(json_string_value(json_array_get(array, i - 1)), text) > 0)
		i--;
	(void)json_array_insert_new(array, i, json_string(text));
}
