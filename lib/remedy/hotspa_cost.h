/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The duration of a switch between two plans: the copies of hotspa_switch_plan(), layer by layer
 * (layers that go from one stage to the same other one are planned together).
 *
 * Devices of a host share its link to other hosts; within a host each has a link of its own. All
 * links run at the same time, so the duration is that of the busiest link for what it sends or
 * receives (Ge et al., SOSP 2024, count what is sent).
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "lib/remedy/hotspa_switch.h"

/*
 * The placement of a plan: device first[p * copies + c] + t holds part t of `tp` of each layer of
 * stage p; `copies` are data and context parallel.
 */
struct hotspa_cost_layout {
	size_t tp, pp, copies;
	const size_t *split; /* layers of each stage */
	const size_t *first; /* NULL: in order, tp within copies within stages */
};

struct hotspa_cost_job {
	const size_t *hosts; /* of each device, less than `devices` */
	size_t devices;
	size_t layers;
	double bytes;  /* per layer */
	double link;   /* bytes per second from a host to others */
	double inside; /* bytes per second from a device to others of its host */
};

/* Seconds. -EINVAL as hotspa_switch_plan(). */
int hotspa_cost_find(const struct hotspa_cost_job *job, const struct hotspa_cost_layout *from,
		     const struct hotspa_cost_layout *to, double *ret_seconds, struct err *err);
