/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which jobs are measured at once: none that share a port or a card (two functions of one card, or
 * two ports of one device, share its slot), and none that together want more of a PCIe link
 * than it carries one way. What two RNICs below one switch read from memory comes through one
 * uplink, and each of them at half its rate would look as slow as a bad cable makes it. Pure.
 */
#pragma once

#include "probes/rnic_pair/pair_plan.h"

/*
 * Give each job its group, jobs of the first group first; in the order that they came in as
 * far as that goes. Where the topology is not known, or not told to a guest, links are taken
 * to be wide enough.
 */
void pair_rounds(struct pair_plan *p);
