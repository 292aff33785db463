/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Number of hosts by verdict in each check of their SKU, for /metrics. The last measurements are in
 * the store, a host's runs at a time, so they are counted in a pass over all hosts, in slices
 * between other work. A pass begins on request, followed by a pause 100 times as long as its work
 * (at most three minutes): that is the age of the result. A small fleet is processed at once.
 */
#pragma once

#include "lib/base/macro.h"

struct controller_part;
struct metric_series;
struct metrics_walk;
struct service;

/*
 * Counts of the last complete pass, by "sku", "check", "verdict"; starts another if it is time. A
 * host counts once per check, by its worst part. Borrowed until control returns to the loop.
 */
const struct metric_series *metrics_walk_checks(struct service *s);

/* Frees it with the controller. */
extern const struct controller_part metrics_part;
