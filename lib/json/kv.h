/* SPDX-License-Identifier: Apache-2.0 */
/* `-o kv`: one dotted.path=value per line, for grep and tests. */
#pragma once

#include <jansson.h>
#include <stdio.h>

/*
 * Prints every leaf of `value` as "a.b.0.c=text": strings without quotes and with control
 * characters and backslashes escaped as in JSON, null as empty.
 */
void kv_print(const json_t *value, FILE *out);
