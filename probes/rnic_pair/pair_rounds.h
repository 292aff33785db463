/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which jobs are measured at once. Jobs of a group share no port and no card (two functions of a
 * card, or two ports of a device, share its slot), and together do not exceed any PCIe link in
 * either direction. Two RNICs below one switch read memory through one uplink; if that limits each
 * to half its rate, both would look as if they had a bad cable. Pure.
 */
#pragma once

#include "probes/rnic_pair/pair_plan.h"

/*
 * Assign a group to each job and sort the jobs by group, otherwise keeping their order if possible.
 * If the topology is unknown or hidden from a guest, links are assumed to be wide enough.
 */
void pair_rounds(struct pair_plan *p);
