/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/line_optrace.h"

#include <errno.h>
#include <stdlib.h>

#include "attribution/line.h"
#include "attribution/line_take.h"
#include "lib/base/err.h"

enum { SHOWN = 24 };

struct object {
	struct jscan scan;
	const char *line, *after; /* end of the last value */
	struct line_shape *shape;
	bool shapeless;
	unsigned seen; /* bits of enum line_field */
};

static int field_of(const struct jtext *key)
{
	int i;

	for (i = 0; i < FIELD_N; i++) {
		if (jtext_is(key, line_fields[i].name))
			return i;
	}
	return FIELD_OTHER;
}

/* Add the text between `after` and a value that begins at `begin` and ended at `scan.at`. */
static void add_shape(struct object *o, const char *begin, int field)
{
	bool name = field == FIELD_OPTYPE;

	o->shapeless |= o->shapeless || !line_shape_add(o->shape, o->after,
							(size_t)(begin + name - o->after), field);
	o->after = o->scan.at - name;
}

static int bad_value(struct object *o, const char *at, int field, struct err *err)
{
	size_t n = MIN((size_t)(o->scan.end - at), (size_t)SHOWN), i;

	for (i = 0; i < n && at[i] != ',' && at[i] != '}'; i++)
		;
	return err_set(err, EINVAL, "%s: '%.*s' is not %s", line_fields[field].name, (int)i, at,
		       field == FIELD_OPTYPE ? "the name of an operation" : "a number");
}

static int read_field(struct object *o, int field, struct trace_op *op, struct err *err)
{
	struct jnumber number;
	struct jtext name;
	const char *begin;
	int r;

	if (o->seen & 1u << field)
		return err_set(err, EINVAL, "%s appears twice", line_fields[field].name);
	o->seen |= 1u << field;
	(void)jscan_peek(&o->scan);
	begin = o->scan.at;
	if (field == FIELD_OPTYPE) {
		if (jscan_string(&o->scan, &name) < 0)
			return bad_value(o, begin, field, err);
		r = line_take_name(&name, op, err);
	} else {
		if (jscan_number(&o->scan, &number) < 0)
			return bad_value(o, begin, field, err);
		r = line_take_number(&number, field, op, err);
	}
	if (r == 0)
		add_shape(o, begin, field);
	return r;
}

static int broken(const struct object *o, struct err *err)
{
	return err_set(err, EINVAL, "not a valid JSON object from column %td on",
		       o->scan.at - o->line + 1);
}

static int read_other(struct object *o, const struct jtext *key, struct err *err)
{
	const char *begin;

	jscan_note(&o->scan, key);
	(void)jscan_peek(&o->scan);
	begin = o->scan.at;
	if (jscan_skip(&o->scan, NULL) < 0)
		return broken(o, err);
	add_shape(o, begin, FIELD_OTHER);
	return 0;
}

static int read_object(struct object *o, struct trace_op *op, struct err *err)
{
	struct jscan_list list;
	struct jtext key;
	int r, more;

	if (jscan_open(&o->scan, '{', &list) < 0)
		return broken(o, err);
	while ((more = jscan_member(&o->scan, &list, &key)) == 1) {
		int field = field_of(&key);

		r = field == FIELD_OTHER ? read_other(o, &key, err) : read_field(o, field, op, err);
		if (r < 0)
			return r;
	}
	if (more < 0)
		return broken(o, err);
	o->shapeless |= o->shapeless || !line_shape_add(o->shape, o->after,
							(size_t)(o->scan.at - o->after), FIELD_END);
	return jscan_end(&o->scan) < 0 ? broken(o, err) : line_needs(o->seen, err);
}

int line_read_optrace(struct line_reader *reader, const char *line, size_t length,
		      struct trace_op *ret_op, struct err *err)
{
	struct object o = { jscan_of(line, length, &reader->pool), line, line, &reader->shape };
	struct trace_op op = TRACE_OP_INIT;
	int r;

	reader->shape = (struct line_shape){ 0 };
	r = read_object(&o, &op, err);
	if (r < 0 || o.shapeless)
		reader->shape.n = 0;
	jscan_release(&o.scan);
	pool_release(&reader->pool);
	if (r < 0)
		return r;
	*ret_op = op;
	return 1;
}
