/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data centre bridging of a network device (IEEE 802.1Qaz) as the kernel
 * tells it by netlink: which priorities pause, and whether the priority of
 * a packet is that of its VLAN tag (PCP) or of its DSCP.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum { DCB_DSCP_MAX = 64 };

struct dcb {
	bool has_pfc, has_apps;
	uint8_t pfc;			/* a bit for each priority that pauses */
	uint8_t priority[DCB_DSCP_MAX]; /* of each DSCP; DCB_NO_PRIORITY when not mapped */
	unsigned n_dscp;		/* DSCPs that are mapped: with any, DSCP is trusted */
};
enum { DCB_NO_PRIORITY = 0xff };

/*
 * Read the answer to DCB_CMD_IEEE_GET, a netlink message of `len` bytes. 0;
 * the device's own negative errno; -EPROTO when it is no such answer. Pure.
 */
int dcb_decode(const void *bytes, size_t len, struct dcb *ret);

/* Ask the kernel about a network device of this namespace; the same errors, and -ETIMEDOUT. */
int dcb_ask(const char *netdev, struct dcb *ret);
