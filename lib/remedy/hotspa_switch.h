/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who sends which rows of a parameter to whom when a job goes from one plan to another: the
 * greedy planner of HotSPa (Ge et al., SOSP 2024; PKU-DAIR/Hetu 9e47240).
 *
 * A slice is a run of rows that no shard of either plan cuts. Slices in ascending order, and
 * for each the devices that need it in ascending order: who has it keeps it; else it comes
 * from the owner that has sent least so far over that kind of link, the first of equals;
 * owners on the same host are asked before others.
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

/* The rows of a device, first and last of them; none when `last` < `first`. */
struct hotspa_switch_shard {
	int64_t first, last;
};

struct hotspa_switch_wish {
	const struct hotspa_switch_shard *source, *target; /* of each device */
	const size_t *hosts;				   /* of each device */
	size_t devices;
};

struct hotspa_switch_move {
	struct hotspa_switch_shard rows;
	size_t from, to;
	bool local; /* it is there already: from == to */
	bool intra; /* within a host */
};

struct hotspa_switch_plan {
	struct hotspa_switch_move *moves; /* owned */
	size_t n;
	uint64_t *intra, *inter; /* owned: rows that each device sends, by kind of link */
};

/*
 * -ERANGE when a row that somebody needs is nobody's, -EINVAL for too many devices or slices.
 */
int hotspa_switch_plan(const struct hotspa_switch_wish *wish, struct hotspa_switch_plan *ret_plan,
		       struct err *err);
void hotspa_switch_release(struct hotspa_switch_plan *plan);
