/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the values of a line in an operation, for the strict parsers. */
#pragma once

#include "attribution/line_shape.h"
#include "lib/json/jscan.h"

struct err;

/* Store an operation's name. -EINVAL with the reason. */
int line_take_name(const struct jtext *name, struct trace_op *op, struct err *err);

/* Store any other enum line_field. -EINVAL with the reason. */
int line_take_number(const struct jnumber *number, int field, struct trace_op *op, struct err *err);

/* Are all required fields in the bit set `seen`? -EINVAL with the reason. */
int line_needs(unsigned seen, struct err *err);
