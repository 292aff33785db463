/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses kernel messages about network devices (rtnetlink(7), RTM_NEWLINK and RTM_DELLINK) and
 * about devices in general (kobject uevents). Pure.
 */
#pragma once

#include <net/if.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct link_message {
	enum { LINK_MESSAGE_NEW, LINK_MESSAGE_GONE } kind;
	int index;
	char name[IF_NAMESIZE];
	bool wanted; /* administratively up */
	bool carrier;
	bool counted; /* `downs` is valid */
	uint64_t downs;
};

/*
 * Parse the next message about a link and advance `*bytes` and `*len` past it. False if there is
 * none left.
 */
bool link_message_next(const char **bytes, size_t *len, struct link_message *ret);

/* Write a request for all links into `ret` (LINK_REQUEST_SIZE bytes). Returns its length. */
size_t link_message_request(void *ret);
enum { LINK_REQUEST_SIZE = 64 };

/* Is the uevent ("remove@/devices/...", then KEY=VALUE strings) about an RDMA device? */
bool uevent_is_rdma(const char *bytes, size_t len);
