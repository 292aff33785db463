/* SPDX-License-Identifier: Apache-2.0 */
/* What people call the parts of a host (lib/report/host_parts.h), by its newest report that said so. */
#pragma once

#include "lib/base/macro.h"

struct err;
struct host_parts;
struct store;

/* None of a host that never said. */
int store_part_names(struct store *s, const char *node, struct host_parts *ret, struct err *err);

/* Keep them, in the open transaction. */
int store_put_part_names(struct store *s, const char *node, const struct host_parts *parts,
			 struct err *err);
