/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who sends which rows of a parameter to whom when a job switches plans: the greedy planner of
 * HotSPa (Ge et al., SOSP 2024; PKU-DAIR/Hetu 9e47240).
 *
 * A slice is a range of rows that no shard of either plan divides. Slices are processed in
 * ascending order, and for each the devices that need it in ascending order: an owner keeps it;
 * else it comes from the owner that has sent least so far over that kind of link, the first of
 * equals. Owners on the same host are preferred.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

enum {
	HOTSPA_SWITCH_DEVICES_MAX = 1024,
	HOTSPA_SWITCH_WORK_MAX = 1 << 30, /* slices * devices * devices */
};

/* The rows of a device, both inclusive; none if `last` < `first`. */
struct hotspa_switch_shard {
	int64_t first, last;
};

struct hotspa_switch_wish {
	const struct hotspa_switch_shard *source, *target; /* per device */
	const size_t *hosts;				   /* per device */
	size_t devices;
};

struct hotspa_switch_move {
	struct hotspa_switch_shard rows;
	size_t from, to;
	bool local; /* already there: from == to */
	bool intra; /* within a host */
};

struct hotspa_switch_plan {
	struct hotspa_switch_move *moves; /* owned */
	size_t n;
	uint64_t *intra, *inter; /* owned: rows sent by each device, by kind of link */
};

/* -ERANGE if nobody has a row that somebody needs, -EINVAL for too many devices or slices. */
int hotspa_switch_plan(const struct hotspa_switch_wish *wish, struct hotspa_switch_plan *ret_plan,
		       struct err *err);
void hotspa_switch_release(struct hotspa_switch_plan *plan);
