/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranks run here, told to the controller: PUT /v1/nodes/NODE/processes with all of them
 * (process_map.h) whenever they change, and again every PROCESS_LINK_AGAIN_US, for what is not
 * heard again is not believed for long. That there are none is told once, at the start and after
 * ranks have gone: an assayd that was stopped meanwhile could not say so.
 */
#pragma once

#include <stddef.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct http;
struct process_entry;
struct process_link;

#define PROCESS_LINK_AGAIN_US (10 * USEC_PER_MIN)

/* `http` is borrowed and outlives the link; `url` of the controller and `node` are copied. */
struct process_link *process_link_new(struct http *http, const char *url, const char *node);
void process_link_free(struct process_link *link);

/* These processes run here now: send them if there is a reason to. */
void process_link_look(struct process_link *link, const struct process_entry *entries, size_t n);
