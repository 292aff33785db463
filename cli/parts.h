/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs and RDMA ports as people know them (lib/report/host_parts.h): how every view names what a
 * row is about, and the line that goes to a technician or a vendor.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct err;

/* "gpu 3" of an item, an incident or a cell, else its subject; "-" for none. New memory. */
char *parts_subject(const json_t *item);

/* The lines of a list of parts with "; " between; NULL for an empty one. New memory. */
char *parts_line(const json_t *list);

/* Give each item that is not pass "parts": those of the host that its subject names. */
void parts_add(json_t *items, const json_t *of_host);

/*
 * Leave of `why` what is about the part that a person means by `words`, and say so in "about" of
 * it. After parts_add(). -ENOENT and -EINVAL as host_parts_find().
 */
int parts_only(json_t *why, const char *words, struct err *err);

/*
 * Give each incident whose parts are called, or plugged in, otherwise than when it was opened
 * "moved": "gpu 3, PCI ... when it was opened; now gpu 5, PCI ...".
 */
void parts_add_moved(json_t *incidents, const json_t *of_host);
