/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports the ranks on this host to the controller: PUT /v1/nodes/NODE/processes with all of them
 * (process_map.h) whenever they change, and again every PROCESS_LINK_AGAIN_US, because the
 * controller lets them expire. An empty list is sent once, at start and after ranks have gone: an
 * assayd that was stopped at that time could not send it.
 */
#pragma once

#include <stddef.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct http;
struct process_entry;
struct process_link;

#define PROCESS_LINK_AGAIN_US (10 * USEC_PER_MIN)

/* `http` is borrowed and must outlive the link; `url` (the controller's) and `node` are copied. */
struct process_link *process_link_new(struct http *http, const char *url, const char *node);
void process_link_free(struct process_link *link);

/* The processes that run now: sends them if needed. */
void process_link_look(struct process_link *link, const struct process_entry *entries, size_t n);
