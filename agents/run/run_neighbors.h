/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The switch ports that the RNICs of a host are plugged into belong to its
 * topology: they go there from the samples that say them. Pure.
 */
#pragma once

#include <jansson.h>

struct report;

/*
 * Each sample of rnic.neighbor becomes a neighbor of its RNIC in `topology`
 * (topology/1, may be NULL), whose digest, and that of the report, is then another.
 * With one, each port that is up and has none is there too, as TOPO_NEIGHBOR_SILENT.
 * Neighbors that are there already stay and come first; nothing happens without a
 * sample, or when the whole would be no topology any more.
 */
void run_report_neighbors(struct report *report, json_t **topology);
