/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences of incidents. Pure. */
#pragma once

struct store_window;
struct verdict_item;

/* "gpu-17: cpu:3 runs at ...; bad in 2 of the last 3 runs". New memory. */
char *incident_sentence(const char *node, const struct verdict_item *item,
			const struct store_window *row);

/* What would clear it: "clears after 3 good runs in a row". New memory. */
char *incident_clears(unsigned n, unsigned good);
