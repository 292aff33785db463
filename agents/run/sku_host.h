/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SKU of this host: its models, from DMI, /proc/cpuinfo and PCI, are looked up in the SKU
 * files, and the match is pinned in $STATE/sku at the first pass. From then on the pin counts: a
 * host that lost all its GPUs is a sick GPU host, not a healthy CPU host. A change of models
 * needs the operator.
 */
#pragma once

#include "lib/base/macro.h"
#include "lib/judge/sku.h"

struct err;

enum { SKU_FILES_MAX = 512 };

/* Is it the name of a SKU file, i.e. not hidden and ending in ".yaml"? */
bool sku_host_is_file(const char *name);

/* Read the models of this host (under the sysroot). Never fails: unknown ones are empty. */
void sku_host_models(struct sku_models *ret);

/*
 * Find the SKU file for `models` under $POLICY/sku: the pinned one if there is a pin, else the
 * best match (sku_better(); then by file name). A pin is ignored if its file now covers other
 * kinds of device although the host's models are unchanged: then the file was split. -ENOENT if
 * none matches; -EINVAL, with the place, for a bad file.
 *
 * `ret_changed` is a sentence, which the caller frees, if the pin was made with other models,
 * else NULL. With -ENOENT it says that the pinned file is gone; it is not set if there is no pin.
 */
int sku_host_find(const struct sku_models *models, struct sku *ret, char **ret_changed,
		  struct err *err);

/* Write the pin unless there is a valid one. Called after the first run that passed. */
int sku_host_pin(const struct sku *sku, const struct sku_models *models, struct err *err);
