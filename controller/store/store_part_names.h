/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the parts of a host for people (lib/report/host_parts.h), from its newest report that
 * has them. */
#pragma once

#include "lib/base/macro.h"

struct err;
struct host_parts;
struct store;

/* Empty for a host that never sent any. */
int store_part_names(struct store *s, const char *node, struct host_parts *ret, struct err *err);

/* Store them in the open transaction. */
int store_put_part_names(struct store *s, const char *node, const struct host_parts *parts,
			 struct err *err);
