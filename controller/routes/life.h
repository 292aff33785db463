/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a host for people: what ends it, and the last actions. */
#pragma once

#include <jansson.h>

struct err;
struct service;

/* Add "life" and the last "actions" of the host `name` to `node`. */
int life_add(struct service *s, const char *name, json_t *node, struct err *err);
