/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/line.h"

#include <errno.h>

#include "attribution/line_csv.h"
#include "attribution/line_optrace.h"
#include "lib/base/err.h"

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
