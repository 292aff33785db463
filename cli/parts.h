/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs and RDMA ports by the names people use (lib/report/host_parts.h): how every view names the
 * subject of a row, and the line for a technician or vendor.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct err;

/*
 * "gpu 3" for an item, an incident or a cell, else its subject; "-" for none. The caller frees
 * it.
 */
char *parts_subject(const json_t *item);

/* The lines of a list of parts, joined by "; "; NULL if it is empty. The caller frees it. */
char *parts_line(const json_t *list);

/* Add "parts" to each item that did not pass: the parts of the host that its subject names. */
void parts_add(json_t *items, const json_t *of_host);

/*
 * Reduce `why` to what is about the part that the user calls `words`, and set its "about". Call
 * parts_add() first. -ENOENT and -EINVAL as host_parts_find().
 */
int parts_only(json_t *why, const char *words, struct err *err);

/*
 * Add "moved" to each incident whose parts have been renamed or moved since it was opened: "gpu
 * 3, PCI ... when it was opened; now gpu 5, PCI ...".
 */
void parts_add_moved(json_t *incidents, const json_t *of_host);
