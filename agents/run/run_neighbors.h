/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds the switch ports that a host's RNICs are plugged into to its topology, from the samples
 * that report them. Pure.
 */
#pragma once

#include <jansson.h>

struct report;

/*
 * Add each rnic.neighbor sample as a neighbor of its RNIC to `topology` (topology/1, may be
 * NULL), and update the digest there and in the report. If there is any, each port that is up but
 * has no neighbor gets TOPO_NEIGHBOR_SILENT. Existing neighbors stay, and come first. Does
 * nothing without such samples, or if the result would not be a valid topology.
 */
void run_report_neighbors(struct report *report, json_t **topology);
