/* SPDX-License-Identifier: Apache-2.0 */
/* The names of hosts, and other words of a report that become names. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { NODE_NAME_MAX = 253 };

/* May this text be the name of a host? Letters, digits, '.', '-', '_'. */
bool node_name_ok(const char *name);

/* Is it of such letters at all, wherever they stand, and of 1 to `max`? NULL is not. */
bool node_name_letters_ok(const char *text, size_t max);
