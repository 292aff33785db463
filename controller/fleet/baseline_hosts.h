/* SPDX-License-Identifier: Apache-2.0 */
/* One baseline: its key, its hosts, and what all but one of them reach. Pure. */
#pragma once

#include "controller/fleet/baseline_inside.h"

/* The order of struct baseline_key, which a struct baseline begins with. */
int baseline_compare_keys(const void *a, const void *b);

/* What a host reaches; beyond BASELINE_HOSTS_MAX no other one is taken. */
void baseline_host_put(struct baseline *line, const char *node, double value, double spread);
void baseline_host_forget(struct baseline *line, const char *node);

/* Values of all but `node` (NULL: of all), ascending. New memory. */
double *baseline_host_values(const struct baseline *line, const char *node, size_t *ret_n);

/* What the other hosts reach, kept for as long as baseline.h says. */
const struct center *baseline_center_but(struct baseline *line, const char *node);

/* Forget all its hosts, and what they were. */
void baseline_empty(struct baseline *baseline);
