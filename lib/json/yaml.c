/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"

/*
 * Builds JSON values from libyaml's events. One frame per open collection; JSON_DEPTH_MAX frames
 * are enough, because deeper input is refused.
 */
struct frame {
	json_t *collection; /* owned until it is put into its parent */
	char *key;	    /* key whose value comes next, owned */
};

struct reader {
	yaml_parser_t parser;
	const char *name;
	struct err *err;
	struct frame frames[JSON_DEPTH_MAX];
	size_t depth;
	json_t *root;		  /* owned; set when the document is complete */
	struct yaml_lines *lines; /* the caller's; NULL: not requested */
};

/* Records where a value begins. */
static void note(struct reader *in, const json_t *value, const yaml_mark_t *at)
{
	struct yaml_lines *lines = in->lines;

	if (!lines || !value)
		return;
	if (lines->n == lines->room) {
		lines->room = 2 * lines->room + 64;
		lines->values = xrealloc(lines->values, lines->room, sizeof(*lines->values));
		lines->lines = xrealloc(lines->lines, lines->room, sizeof(*lines->lines));
	}
	lines->values[lines->n] = value;
	lines->lines[lines->n++] = at->line + 1;
}

static int fail(struct reader *in, const yaml_mark_t *at, const char *what)
{
	return err_set(in->err, EINVAL, "%s: line %zu column %zu: %s", in->name, at->line + 1,
		       at->column + 1, what);
}

static bool all_in(const char *text, const char *set)
{
	return text[0] && !text[strspn(text, set)];
}

/* Digits of `base` as an integer. `*ret_value` is NULL if it is too large. */
static bool whole_number(const char *digits, int base, json_t **ret_value)
{
	char *end = NULL;
	long long integer;

	errno = 0;
	integer = strtoll(digits, &end, base);
	if (end == digits || *end)
		return false;
	*ret_value = errno ? NULL : json_integer(integer);
	return true;
}

/*
 * True if `text` is a number by the core schema (10.3.2 of YAML 1.2.2); `*ret_value` is NULL if it
 * is too large.
 */
static bool plain_number(const char *text, json_t **ret_value)
{
	char *end = NULL;
	double real;

	if (starts_with(text, "0x") && all_in(text + 2, "0123456789abcdefABCDEF"))
		return whole_number(text + 2, 16, ret_value);
	if (starts_with(text, "0o") && all_in(text + 2, "01234567"))
		return whole_number(text + 2, 8, ret_value);
	if (!all_in(text, "+-0123456789.eE"))
		return false;
	if (all_in(text, "+-0123456789") && whole_number(text, 10, ret_value))
		return true;
	real = strtod(text, &end);
	if (end == text || *end)
		return false;
	*ret_value = isfinite(real) ? json_real(real) : NULL;
	return true;
}

/* NULL for a number that is too large. */
static json_t *plain_value(const char *text)
{
	static const struct {
		const char *text;
		int value; /* 0 false, 1 true, -1 null */
	} words[] = {
		{ "", -1 },	{ "~", -1 },	{ "null", -1 }, { "Null", -1 },
		{ "NULL", -1 }, { "true", 1 },	{ "True", 1 },	{ "TRUE", 1 },
		{ "false", 0 }, { "False", 0 }, { "FALSE", 0 },
	};
	json_t *number = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (streq(text, words[i].text))
			return words[i].value < 0 ? json_null() : json_boolean(words[i].value);
	}
	return plain_number(text, &number) ? number : json_string(text);
}

/* Adds a finished `value` (taken) to the current collection. */
static int put(struct reader *in, json_t *value, const yaml_mark_t *at)
{
	struct frame *top = in->depth ? &in->frames[in->depth - 1] : NULL;
	int r = 0;

	if (!value)
		return fail(in, at, "a number too large, or not valid UTF-8");
	if (!top) {
		in->root = value;
		return 0;
	}
	if (json_is_array(top->collection))
		return json_array_append_new(top->collection, value) < 0
			       ? fail(in, at, "out of memory")
			       : 0;
	if (!top->key) {
		/* Keys are always read as text. */
		json_decref(value);
		return fail(in, at, "a key must be plain text");
	}
	if (json_object_set_new(top->collection, top->key, value) < 0) {
		r = fail(in, at, "a key is not valid UTF-8");
	}
	free(top->key);
	top->key = NULL;
	return r;
}

static bool wants_key(const struct reader *in)
{
	return in->depth && json_is_object(in->frames[in->depth - 1].collection) &&
	       !in->frames[in->depth - 1].key;
}

static int on_key(struct reader *in, const char *key, const yaml_mark_t *at)
{
	struct frame *top = &in->frames[in->depth - 1];

	if (json_object_get(top->collection, key))
		return err_set(in->err, EINVAL, "%s: line %zu column %zu: %s: given twice",
			       in->name, at->line + 1, at->column + 1, key);
	top->key = strdup(key);
	return top->key ? 0 : fail(in, at, "out of memory");
}

static int on_scalar(struct reader *in, const yaml_event_t *e)
{
	const char *text = (const char *)e->data.scalar.value;
	bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	json_t *value;

	/* "! 12" has no tag in its event, only a style that is not resolved. */
	if (e->data.scalar.anchor || e->data.scalar.tag || (plain && !e->data.scalar.plain_implicit))
		return fail(in, &e->start_mark, "anchors and tags are not supported");
	if (strlen(text) != e->data.scalar.length)
		return fail(in, &e->start_mark, "a NUL byte in a string");
	if (wants_key(in))
		return on_key(in, text, &e->start_mark);
	value = plain ? plain_value(text) : json_string(text);
	note(in, value, &e->start_mark);
	return put(in, value, &e->start_mark);
}

static int on_open(struct reader *in, const yaml_event_t *e, json_t *collection, bool decorated)
{
	const char *what = decorated			 ? "anchors and tags are not supported"
			   : wants_key(in)		 ? "a key must be plain text"
			   : in->depth >= JSON_DEPTH_MAX ? "nested too deep"
							 : NULL;

	if (what) {
		json_decref(collection);
		return fail(in, &e->start_mark, what);
	}
	note(in, collection, &e->start_mark);
	in->frames[in->depth++] = (struct frame){ .collection = collection };
	return 0;
}

static int on_close(struct reader *in, const yaml_event_t *e)
{
	struct frame *top = &in->frames[--in->depth];
	json_t *value = top->collection;

	top->collection = NULL;
	return put(in, value, &e->start_mark);
}

static int on_event(struct reader *in, const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_SCALAR_EVENT:
		return on_scalar(in, e);
	case YAML_SEQUENCE_START_EVENT:
		return on_open(in, e, json_array(),
			       e->data.sequence_start.anchor || e->data.sequence_start.tag);
	case YAML_MAPPING_START_EVENT:
		return on_open(in, e, json_object(),
			       e->data.mapping_start.anchor || e->data.mapping_start.tag);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return on_close(in, e);
	case YAML_ALIAS_EVENT:
		return fail(in, &e->start_mark, "anchors and tags are not supported");
	case YAML_DOCUMENT_START_EVENT:
		return in->root ? fail(in, &e->start_mark, "a second document") : 0;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return 0;
	}
	return 0;
}

static int parse_failure(struct reader *in)
{
	const yaml_parser_t *p = &in->parser;

	if (p->error == YAML_READER_ERROR) /* no line is known yet */
		return err_set(in->err, EINVAL, "%s: byte %zu: %s", in->name, p->problem_offset + 1,
			       p->problem);
	return fail(in, &p->problem_mark, p->problem ? p->problem : "not YAML");
}

static int read_events(struct reader *in)
{
	bool done = false;
	int r = 0;

	while (!done && r == 0) {
		yaml_event_t event;

		if (!yaml_parser_parse(&in->parser, &event))
			return parse_failure(in);
		r = on_event(in, &event);
		done = event.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
	}
	return r;
}

static int parse(const char *text, size_t len, const char *name, json_t **ret_value,
		 struct yaml_lines *lines, struct err *err)
{
	struct reader in = { .name = name, .err = err, .lines = lines };
	size_t i;
	int r;

	if (!yaml_parser_initialize(&in.parser))
		return err_set(err, ENOMEM, "%s: out of memory", name);
	yaml_parser_set_input_string(&in.parser, (const unsigned char *)text, len);
	r = read_events(&in);
	yaml_parser_delete(&in.parser);
	for (i = 0; i < ARRAY_SIZE(in.frames); i++) {
		json_decref(in.frames[i].collection);
		free(in.frames[i].key);
	}
	if (r == 0 && !in.root)
		r = err_set(err, EINVAL, "%s: empty", name);
	if (r < 0) {
		json_decref(in.root);
		return r;
	}
	*ret_value = in.root;
	return 0;
}

int yaml_parse(const char *text, size_t len, const char *name, json_t **ret_value, struct err *err)
{
	return parse(text, len, name, ret_value, NULL, err);
}

static int read_file(const char *path, json_t **ret_value, struct yaml_lines *lines, struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	size_t len;
	int r = file_read(AT_FDCWD, path, JSON_PEOPLE_FILE_MAX, &text, &len, err);

	return r < 0 ? r : parse(text, len, path, ret_value, lines, err);
}

int yaml_read_file(const char *path, json_t **ret_value, struct err *err)
{
	return read_file(path, ret_value, NULL, err);
}

int yaml_read_file_lines(const char *path, json_t **ret_value, struct yaml_lines *ret_lines,
			 struct err *err)
{
	*ret_lines = (struct yaml_lines){ .n = 0 };
	return read_file(path, ret_value, ret_lines, err);
}

size_t yaml_line(const struct yaml_lines *lines, const json_t *value)
{
	size_t i;

	for (i = 0; i < lines->n; i++)
		if (lines->values[i] == value)
			return lines->lines[i];
	return 0;
}

void yaml_lines_release(struct yaml_lines *lines)
{
	free(lines->values);
	free(lines->lines);
	*lines = (struct yaml_lines){ .n = 0 };
}
