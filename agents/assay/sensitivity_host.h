/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smallest loss of each check that would be detected on this host: the values of the last
 * runs against all references that the next run will be judged by.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "lib/base/macro.h"

struct err;

/*
 * The object of `assay list --sensitivity` (docs/formats.md): for each (check, class) the newest
 * run that measured it, and each check that is listed in `probes` (the list of `assay list`) but
 * was never measured here. `policy` and `sku` are files, or NULL for those of this host. New
 * reference.
 *
 * Returns -ENODATA if nothing was run yet, or a negative errno, with the place, for a bad file.
 */
int sensitivity_host(const json_t *probes, const char *policy, const char *sku, json_t **ret,
		     struct err *err);
