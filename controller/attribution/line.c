/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/attribution/line.h"

#include <errno.h>

#include "lib/err.h"

enum { SHOWN = 40 }; /* bytes of what is quoted in a sentence */

int line_take_name(const struct jtext *name, struct trace_op *op, struct err *err)
{
	int shown = (int)MIN(name->length, (size_t)SHOWN);

	op->type = optype_find(name->at, name->length);
	if (op->type >= 0)
		return 0;
	if (memmem(name->at, name->length, "-send-", 6) ||
	    memmem(name->at, name->length, "-recv-", 6))
		return err_set(
			err, EINVAL,
			"'%.*s' is two operations: write its send and its receive as a line each",
			shown, name->at);
	return err_set(err, EINVAL, "unknown operation '%.*s'", shown, name->at);
}

int line_take_number(const struct jnumber *number, int field, struct trace_op *op, struct err *err)
{
	char *member = (char *)op + line_fields[field].offset;
	bool is_time = field == FIELD_START || field == FIELD_DURATION;

	if (is_time)
		memcpy(member, &number->real, sizeof(number->real));
	else if (number->whole)
		memcpy(member, &number->integer, sizeof(number->integer));
	else
		return err_set(err, EINVAL, "%s: %g is not a whole number", line_fields[field].name,
			       number->real);
	return 0;
}

int line_needs(unsigned seen, struct err *err)
{
	size_t i;

	for (i = 0; i < FIELD_N; i++) {
		if (line_fields[i].needed && !(seen & 1u << i))
			return err_set(err, EINVAL, "%s is missing", line_fields[i].name);
	}
	return 0;
}

void line_style_optrace(struct line_style *style)
{
	*style = (struct line_style){ .format = LINE_OPTRACE };
	line_names_fill(&style->names);
}

static bool is_blank(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
		at++;
	return at == end;
}

static int read_strictly(struct line_reader *reader, const char *at, const char *end,
			 struct trace_op *ret_op, struct err *err)
{
	size_t length = (size_t)(end - at);

	if (is_blank(at, end))
		return 0;
	if (length > LINE_MAX_BYTES)
		return err_set(err, EINVAL, "longer than %d bytes", LINE_MAX_BYTES);
	if (reader->style->format == LINE_OPTRACE)
		return line_read_optrace(reader, at, length, ret_op, err);
	return line_read_csv(reader, at, length, ret_op, err);
}

int line_read(struct line_reader *reader, const char **at, struct trace_op *ret_op, struct err *err)
{
	struct trace_op op = TRACE_OP_INIT;
	const char *end = line_shape_read(&reader->shape, &reader->style->names, *at, &op);
	int r = 1;

	if (!end) {
		end = rawmemchr(*at, '\n');
		op = (struct trace_op)TRACE_OP_INIT;
		r = read_strictly(reader, *at, end, &op, err);
	}
	if (r < 0)
		return r;
	*at = end + 1;
	if (r == 1)
		*ret_op = op;
	return r;
}

void line_reader_release(struct line_reader *reader)
{
	pool_release(&reader->pool);
}
