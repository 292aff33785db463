/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The links of this host's RNICs as the kernel tells of them, each change into
 * a struct link_watch: rtnetlink for the network devices that RDMA ports
 * belong to, uevents for RDMA devices that come and go. A port without a
 * network device here (InfiniBand, or one that a container has) is looked at in sysfs.
 */
#pragma once

#include "lib/base/macro.h"

struct link_watch;
struct sd_event;
struct watch_link;

/* `links` is borrowed; `changed` is called after something was seen. */
struct watch_link *watch_link_new(struct sd_event *event, struct link_watch *links,
				  void (*changed)(void *context), void *context);
void watch_link_free(struct watch_link *l);

/* Look at all ports; open the sockets anew if they are not open. A complaint is told once. */
void watch_link_look(struct watch_link *l);
