/* SPDX-License-Identifier: Apache-2.0 */
/* The switch ports that the ports of this host are plugged into, as lldpd heard them. */
#pragma once

#include <net/if.h>

#include "lib/base/macro.h"

enum { LLDP_TEXT_SIZE = 128, LLDP_NEIGHBORS_MAX = 256, LLDP_OUTPUT_MAX = 1024 * 1024 };

struct lldp_neighbor {
	char netdev[IF_NAMESIZE];
	char chassis[LLDP_TEXT_SIZE]; /* its name, else its id */
	char port[LLDP_TEXT_SIZE];    /* its id; its description when the id is only an address */
};

/*
 * Read what `lldpcli -f json0 show neighbors details` printed: the first
 * neighbor of each network device that names a chassis and a port. How many
 * went into `ret`, at most `max`; 0 for what is not such output. Pure.
 */
size_t lldp_decode(const char *text, size_t len, struct lldp_neighbor *ret, size_t max);
