/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which SKU this host is: its models read from DMI, /proc/cpuinfo and PCI,
 * looked up in the SKU files, and pinned in $STATE/sku at the first pass. From
 * then on the pin counts: a host that lost all its GPUs is a sick GPU host,
 * not a healthy CPU host. A change of models asks the operator.
 */
#pragma once

#include "lib/base/macro.h"
#include "lib/judge/sku.h"

struct err;

enum { SKU_FILES_MAX = 512 };

/* Is it the name of a SKU file: not hidden, and it ends in ".yaml"? */
bool sku_host_is_file(const char *name);

/* Read the models of this host (under the sysroot). Cannot fail: unknown is empty. */
void sku_host_models(struct sku_models *ret);

/*
 * Find the SKU file for `models` under $POLICY/sku: the one named by the pin
 * if there is a pin, else the best that matches (sku_better(); then by file
 * name). A pin whose file is about other kinds of device, though the host's are
 * the same as ever, is of a file that was divided since: it counts for nothing. -ENOENT when none
 * matches; -EINVAL with the place for a file that is wrong.
 *
 * `ret_changed` is a sentence (yours to free) when the pin was made on other
 * models, else NULL. With -ENOENT it says that the file of the pin is gone,
 * and is left as it is when there is no pin.
 */
int sku_host_find(const struct sku_models *models, struct sku *ret, char **ret_changed,
		  struct err *err);

/* Write the pin unless there is one that holds. Called after the first run that passed. */
int sku_host_pin(const struct sku *sku, const struct sku_models *models, struct err *err);
