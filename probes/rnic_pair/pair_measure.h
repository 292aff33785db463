/* SPDX-License-Identifier: Apache-2.0 */
/* Bandwidth and latency over connected lanes. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct pair_lanes;
struct sample;

/* How long to measure: `us` on a normal fabric, and up to `deadline_us` on a slow one. */
struct pair_time {
	uint64_t us, deadline_us;
};

/*
 * Measure over connected lanes and fill in samples of PAIR_WRITE_BW, PAIR_SEND_BW or PAIR_BIDIR_BW
 * (of several lanes at once) and PAIR_WRITE_LAT: value, params and note, or the state that says why
 * there is no value. PAIR_SEND_BW and PAIR_BIDIR_BW need the other end in this process.
 */
void pair_bandwidth_by(int check, const struct pair_lanes *const *lanes, size_t n,
		       const struct pair_time *time, struct sample *samples);
void pair_bandwidth(const struct pair_lanes *const *lanes, size_t n, const struct pair_time *time,
		    struct sample *samples);
void pair_latency(const struct pair_lanes *l, const struct pair_time *time, struct sample *s);

/* Everything that must be equal for two values to be comparable. Returns a new reference. */
json_t *pair_params(const struct pair_lanes *l, int check);
