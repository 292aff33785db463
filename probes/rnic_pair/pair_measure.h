/* SPDX-License-Identifier: Apache-2.0 */
/* Bandwidth and latency over lanes that are connected. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct pair_lanes;
struct sample;

/* How long to measure: `us` when the fabric is as fast as most are, until `deadline_us` else. */
struct pair_time {
	uint64_t us, deadline_us;
};

/*
 * Measure over connected lanes and fill samples of PAIR_WRITE_BW, PAIR_SEND_BW or PAIR_BIDIR_BW
 * (of several lanes at once) and PAIR_WRITE_LAT: value, params and note, or the
 * state that says why there is none. Sends and both directions need the other end here.
 */
void pair_bandwidth_by(int check, const struct pair_lanes *const *lanes, size_t n,
		       const struct pair_time *time, struct sample *samples);
void pair_bandwidth(const struct pair_lanes *const *lanes, size_t n, const struct pair_time *time,
		    struct sample *samples);
void pair_latency(const struct pair_lanes *l, const struct pair_time *time, struct sample *s);

/* All that must be equal for two values to be compared. New reference. */
json_t *pair_params(const struct pair_lanes *l, int check);
