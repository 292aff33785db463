/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data centre bridging of a network device (IEEE 802.1Qaz), from the kernel via netlink: which
 * priorities use PFC, and whether a packet's priority comes from its VLAN tag (PCP) or its DSCP.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum { DCB_DSCP_MAX = 64 };

struct dcb {
	bool has_pfc, has_apps;
	uint8_t pfc;			/* bitmask of priorities with PFC */
	uint8_t priority[DCB_DSCP_MAX]; /* by DSCP; DCB_NO_PRIORITY if not mapped */
	unsigned n_dscp;		/* mapped DSCPs; if any, DSCP is trusted */
};
enum { DCB_NO_PRIORITY = 0xff };

/*
 * Decode the answer to DCB_CMD_IEEE_GET, a netlink message of `len` bytes. Returns 0, the negative
 * errno in the answer, or -EPROTO if it is no such answer. Pure.
 */
int dcb_decode(const void *bytes, size_t len, struct dcb *ret);

/* Query the kernel about a network device in this namespace; the same errors, and -ETIMEDOUT. */
int dcb_ask(const char *netdev, struct dcb *ret);
