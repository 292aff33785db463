/* SPDX-License-Identifier: Apache-2.0 */
/* SKUs by name: the shipped ones are in $POLICY/sku, one file each. */
#pragma once

#include <jansson.h>

struct err;

/*
 * Resolve the argument of --sku: a path, or the name of a shipped SKU ("hgx-h100"). The caller
 * frees the path. -EINVAL if it is neither, with a suggestion.
 */
int sku_name_path(const char *given, char **ret_path, struct err *err);

/* The names in alphabetical order; empty if no files are installed. New reference. */
json_t *sku_name_list(void);
