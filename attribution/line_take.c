/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/line_take.h"

#include <errno.h>

#include "lib/base/err.h"

enum { SHOWN = 40 }; /* bytes of a quotation in messages */

int line_take_name(const struct jtext *name, struct trace_op *op, struct err *err)
{
	int shown = (int)MIN(name->length, (size_t)SHOWN);

	op->type = optype_find(name->at, name->length);
	if (op->type >= 0)
		return 0;
	if (memmem(name->at, name->length, "-send-", 6) ||
	    memmem(name->at, name->length, "-recv-", 6))
		return err_set(
			err,
			EINVAL, "'%.*s' is two operations: write its send and its receive on separate lines",
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
