/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much each check may lose on this host before it is seen: from the values
 * of the last runs, held against all that the next run will be judged by.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "lib/base/macro.h"

struct err;

/*
 * The object of `assay list --sensitivity` (docs/formats.md): for each (check,
 * class) the newest run that measured it, and each check that one of `probes`
 * (the list of `assay list`) knows and nothing has measured here. `policy` and
 * `sku` are files, or NULL for those of this host. New reference.
 * A negative errno with the place for a bad file; -ENODATA when nothing was
 * run yet.
 */
int sensitivity_host(const json_t *probes, const char *policy, const char *sku, json_t **ret,
		     struct err *err);
