/* SPDX-License-Identifier: Apache-2.0 */
/* Where something is, in a summary: ranks and hosts, of a stranger's program. Pure. */
#pragma once

#include <jansson.h>

struct err;
struct jval;

/* "ranks": the first and the last, into a json_t * that is owned; null changes nothing. As
 * jfield.decode. */
int summary_place_ranks(const struct jval *v, void *member, struct err *err);

/* As jfield.encode, of a json_t *. */
json_t *summary_place_json(const void *member);

/* -EINVAL: one of the hosts of place `v`, a list that ends with NULL or NULL, has no name of a
 * host. */
int summary_place_check(const struct jval *v, char *const *hosts, struct err *err);
