/* SPDX-License-Identifier: Apache-2.0 */
/* The switch ports that this host is connected to, as seen by lldpd. */
#pragma once

#include <net/if.h>

#include "lib/base/macro.h"

enum { LLDP_TEXT_SIZE = 128, LLDP_NEIGHBORS_MAX = 256, LLDP_OUTPUT_MAX = 1024 * 1024 };

struct lldp_neighbor {
	char netdev[IF_NAMESIZE];
	char chassis[LLDP_TEXT_SIZE]; /* its name, otherwise its id */
	char port[LLDP_TEXT_SIZE];    /* its id, or its description if the id is only an address */
};

/*
 * Decode the output of `lldpcli -f json0 show neighbors details`: the first neighbour of each
 * network device that has both a chassis and a port. Returns the number put into `ret`, at most
 * `max`; 0 for any other text. Pure.
 */
size_t lldp_decode(const char *text, size_t len, struct lldp_neighbor *ret, size_t max);
