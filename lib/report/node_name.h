/* SPDX-License-Identifier: Apache-2.0 */
/* Names of hosts, and other texts of a report that become names. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { NODE_NAME_MAX = 253 };

/* True if this can be the name of a host: letters, digits, '.', '-', '_'. */
bool node_name_ok(const char *name);

/* True for 1 to `max` of these characters, in any position. False for NULL. */
bool node_name_letters_ok(const char *text, size_t max);
