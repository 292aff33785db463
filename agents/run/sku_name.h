/* SPDX-License-Identifier: Apache-2.0 */
/* SKUs by their names: those that ship lie in $POLICY/sku, one file each. */
#pragma once

#include <jansson.h>

struct err;

/*
 * The file that --sku means: a path, or the name of a SKU that ships ("hgx-h100").
 * -EINVAL for what is neither, with the name that may have been meant. New memory.
 */
int sku_name_path(const char *given, char **ret_path, struct err *err);

/* The names in alphabetical order; empty where no file ships. New reference. */
json_t *sku_name_list(void);
