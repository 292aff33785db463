/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel says of network devices (rtnetlink(7), RTM_NEWLINK and
 * RTM_DELLINK) and of devices at all (kobject uevents), as bytes. Pure.
 */
#pragma once

#include <net/if.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct link_message {
	enum { LINK_MESSAGE_NEW, LINK_MESSAGE_GONE } kind;
	int index;
	char name[IF_NAMESIZE];
	bool wanted;  /* an operator has put it up */
	bool carrier; /* it has a carrier */
	bool counted; /* `downs` is known */
	uint64_t downs;
};

/*
 * The first message of `*bytes` that is about a link; `*bytes` and `*len` go
 * on behind it. False when there is none left.
 */
bool link_message_next(const char **bytes, size_t *len, struct link_message *ret);

/* Write the request for all links into `ret` (LINK_REQUEST_SIZE bytes); its length. */
size_t link_message_request(void *ret);
enum { LINK_REQUEST_SIZE = 64 };

/* Is the uevent ("remove@/devices/...", then KEY=VALUE strings) about an RDMA device? */
bool uevent_is_rdma(const char *bytes, size_t len);
