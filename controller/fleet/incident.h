/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences for incidents. Pure. */
#pragma once

#include <stddef.h>

struct store_window;
struct verdict_item;

/* How many are bad, out of how many (0: unknown). */
struct incident_count {
	size_t bad, of;
};

/*
 * "gpu-17: cpu:3 runs at ...; so are 7 of 8 parts; bad in 2 of the last 3 runs";
 * `parts` are those of the check. New memory.
 */
char *incident_sentence(const char *node, const struct verdict_item *item,
			const struct store_window *row, const struct incident_count *parts);

/*
 * Half or more `hosts` of a SKU are low, as `item` of `node` shows: "hgx-h100: 14 of 16 hosts are
 * low in gemm.rate at once: ...". New memory.
 */
char *incident_fleet_sentence(const char *sku, const char *node, const struct verdict_item *item,
			      const struct incident_count *hosts);

/* For a host whose only findings are those of its fleet. New memory. */
char *incident_alike_sentence(const char *sku, const char *check);
