/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a switch between two plans takes: the copies that hotspa_switch_plan() makes, layer by
 * layer (layers that go from one stage to one other are planned together).
 *
 * Devices of a host share its link to others; within a host each has a link of its own. Both
 * kinds run at once, and so do all links, so it takes what the busiest needs for what it sends or
 * for what it gets (Ge et al., SOSP 2024, count what is sent).
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "lib/remedy/hotspa_switch.h"

/*
 * A plan's places: device first[p * copies + c] + t holds part t of `tp` of each layer of stage
 * p; `copies` are data and context parallel.
 */
struct hotspa_cost_layout {
	size_t tp, pp, copies;
	const size_t *split; /* layers of each stage */
	const size_t *first; /* NULL: in order, tp inside copies inside stages */
};

struct hotspa_cost_job {
	const size_t *hosts; /* of each device, below `devices` */
	size_t devices;
	size_t layers;
	double bytes;  /* of a layer */
	double link;   /* bytes a second of a host to others */
	double inside; /* bytes a second of a device to others of its host */
};

/* Seconds. -EINVAL as hotspa_switch_plan(). */
int hotspa_cost_find(const struct hotspa_cost_job *job, const struct hotspa_cost_layout *from,
		     const struct hotspa_cost_layout *to, double *ret_seconds, struct err *err);
