/* SPDX-License-Identifier: Apache-2.0 */
/* Places in a summary: ranks and hosts, from an untrusted program. Pure. */
#pragma once

#include <jansson.h>

struct err;
struct jval;

/* "ranks": first and last, into an owned json_t *; null changes nothing. As jfield.decode. */
int summary_place_ranks(const struct jval *v, void *member, struct err *err);

/* As jfield.encode, of a json_t *. */
json_t *summary_place_json(const void *member);

/* Returns -EINVAL if one of the hosts of place `v` (a NULL-terminated list, or NULL) is not a host
 * name. */
int summary_place_check(const struct jval *v, char *const *hosts, struct err *err);
