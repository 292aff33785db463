/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/line_csv.h"

#include <errno.h>

#include "attribution/line.h"
#include "attribution/line_take.h"
#include "lib/base/err.h"

enum { SHOWN = 24 };

/* The field at `*at`; advances past its comma, or to `end` + 1 after the last. */
static struct jtext next_field(const char **at, const char *end)
{
	const char *comma = memchr(*at, ',', (size_t)(end - *at));
	struct jtext text = { *at, (size_t)((comma ? comma : end) - *at) };

	*at += text.length + 1;
	return text;
}

static const char *without_return(const char *line, size_t length)
{
	return line + length - (length && line[length - 1] == '\r');
}

static int column_of(const struct jtext *name)
{
	int i;

	for (i = 0; i < FIELD_N; i++) {
		if (jtext_is(name, line_fields[i].name))
			return i;
	}
	return FIELD_OTHER;
}

int line_style_csv(struct line_style *style, const char *line, size_t length, struct err *err)
{
	const char *at = line, *end = without_return(line, length);
	struct line_style csv = { .format = LINE_CSV };
	unsigned seen = 0;
	int r;

	while (at <= end) {
		struct jtext name = next_field(&at, end);
		int field = column_of(&name);

		if (csv.n_columns == LINE_COLUMNS_MAX)
			return err_set(err, EINVAL, "more than %d columns", LINE_COLUMNS_MAX);
		if (field != FIELD_OTHER && (seen & 1u << field))
			return err_set(err, EINVAL, "column %s appears twice",
				       line_fields[field].name);
		seen |= field == FIELD_OTHER ? 0 : 1u << field;
		csv.columns[csv.n_columns++] = field;
	}
	if (seen == 0)
		return err_set(err, EINVAL,
			       "neither the meta line of optrace/1 nor the names of CSV columns");
	r = line_needs(seen, err);
	if (r < 0)
		return err_wrap(err, r, "columns of the CSV");
	line_names_fill(&csv.names);
	*style = csv;
	return 0;
}

static int take_field(struct line_reader *reader, const struct jtext *text, int field,
		      struct trace_op *op, struct err *err)
{
	struct jscan scan = jscan_of(text->at, text->length, &reader->pool);
	struct jnumber number;

	if (field == FIELD_OTHER)
		return 0;
	if (field == FIELD_OPTYPE)
		return line_take_name(text, op, err);
	if (jscan_number(&scan, &number) < 0 || jscan_end(&scan) < 0)
		return err_set(err, EINVAL, "%s: '%.*s' is not a number", line_fields[field].name,
			       (int)MIN(text->length, (size_t)SHOWN), text->at);
	return line_take_number(&number, field, op, err);
}

static void make_shape(struct line_reader *reader)
{
	const struct line_style *style = reader->style;
	size_t i;

	reader->shape = (struct line_shape){ .csv = true };
	for (i = 0; i < style->n_columns; i++) {
		if (!line_shape_add(&reader->shape, ",", i > 0, style->columns[i]))
			return;
	}
	(void)line_shape_add(&reader->shape, "", 0, FIELD_END);
}

int line_read_csv(struct line_reader *reader, const char *line, size_t length,
		  struct trace_op *ret_op, struct err *err)
{
	const struct line_style *style = reader->style;
	const char *at = line, *end = without_return(line, length);
	struct trace_op op = TRACE_OP_INIT;
	size_t n = 0;
	int r = 0;

	while (r == 0 && at <= end && n < style->n_columns) {
		struct jtext text = next_field(&at, end);

		r = take_field(reader, &text, style->columns[n++], &op, err);
	}
	pool_release(&reader->pool);
	if (r < 0)
		return r;
	if (at <= end || n < style->n_columns)
		return err_set(err, EINVAL, "%s fields than the %zu columns named on the first line",
			       at <= end ? "more" : "fewer", style->n_columns);
	make_shape(reader);
	*ret_op = op;
	return 1;
}
