/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts that differ from most of their SKU in driver, firmware, kernel, BIOS or settings, by the
 * `env` of their reports. Pure.
 *
 * The majority value of a key is that of more than half of the SKU's hosts that have the key.
 * Without one no host drifts, and the item has "majority": null. Fewer than DRIFT_HOSTS_MIN hosts
 * have no majority.
 */
#pragma once

#include <jansson.h>

enum { DRIFT_HOSTS_MIN = 3, DRIFT_NODES_MAX = 1000 };

/* Collects the hosts. */
struct drift;
struct drift *drift_new(void);
void drift_free(struct drift *d);

/* Add a host: {"node", "sku", "env"}. Hosts are added by name, and listed in that order. */
void drift_add(struct drift *d, const json_t *node);

/*
 * Returns the array of {"sku", "key", "majority", "hosts", "agree", "nodes": [{"node", "value"}]},
 * by SKU and key, where hosts differ. At most DRIFT_NODES_MAX nodes each, by value and name. New
 * reference.
 */
json_t *drift_items(const struct drift *d);
