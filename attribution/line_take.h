/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a line into an operation, for each of the strict readers. */
#pragma once

#include "attribution/line_shape.h"
#include "lib/json/jscan.h"

struct err;

/* The name of an operation. -EINVAL with the reason. */
int line_take_name(const struct jtext *name, struct trace_op *op, struct err *err);

/* The value of any other enum line_field. -EINVAL with the reason. */
int line_take_number(const struct jnumber *number, int field, struct trace_op *op, struct err *err);

/* Are all fields that an operation needs among the bits `seen`? -EINVAL with the reason. */
int line_needs(unsigned seen, struct err *err);
