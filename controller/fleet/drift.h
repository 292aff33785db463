/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts that differ from most of their SKU: driver, firmware, kernel, BIOS,
 * settings, as the `env` of their reports says. Pure.
 *
 * The majority of a key is the value of more than half of the hosts of the SKU
 * that have the key; without one nobody drifts, and the item says so with
 * "majority": null. Fewer than DRIFT_HOSTS_MIN hosts have no majority.
 */
#pragma once

#include <jansson.h>

enum { DRIFT_HOSTS_MIN = 3, DRIFT_NODES_MAX = 1000 };

/* What hosts say, as it comes. */
struct drift;
struct drift *drift_new(void);
void drift_free(struct drift *d);

/* A host: {"node", "sku", "env"}. They come by name: those that differ are told in that order. */
void drift_add(struct drift *d, const json_t *node);

/*
 * The array of {"sku", "key", "majority", "hosts", "agree", "nodes": [{"node", "value"}]},
 * by SKU and key, only where somebody differs. New reference; at most
 * DRIFT_NODES_MAX nodes each, by value and name.
 */
json_t *drift_items(const struct drift *d);
