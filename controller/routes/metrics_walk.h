/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many hosts are at which verdict in each check of their SKU, for /metrics. What hosts last
 * measured is in the store, a host's runs at a time, so it is counted by a walk through all hosts,
 * in slices between which the loop goes on. It begins when somebody asks, and rests for 100 times
 * as long as it worked (three minutes at most): what is told is that old. A small fleet is walked
 * at once.
 */
#pragma once

#include "lib/base/macro.h"

struct controller_part;
struct metric_series;
struct metrics_walk;
struct service;

/*
 * The counts of the last walk that came to its end, by "sku", "check", "verdict"; another begins
 * if it is time. A host counts once in a check, by its worst part. Borrowed until the loop goes on.
 */
const struct metric_series *metrics_walk_checks(struct service *s);

/* Ends it with the controller. */
extern const struct controller_part metrics_part;
