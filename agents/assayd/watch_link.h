/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the links of this host's RNICs and passes each change to a struct link_watch: rtnetlink
 * for the network devices of RDMA ports, uevents for RDMA devices that come and go. A port
 * without a network device here (InfiniBand, or one moved into a container) is read from sysfs.
 */
#pragma once

#include "lib/base/macro.h"

struct link_watch;
struct sd_event;
struct watch_link;

/* `links` is borrowed; `changed` is called after every observation. */
struct watch_link *watch_link_new(struct sd_event *event, struct link_watch *links,
				  void (*changed)(void *context), void *context);
void watch_link_free(struct watch_link *l);

/* Check all ports, and open the sockets if they are not open. An error is logged once. */
void watch_link_look(struct watch_link *l);
