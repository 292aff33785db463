/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may take part in a campaign, and where they are: switches by what the operator's file
 * says (rail_map.h), else a label of the node, else the switch that its RNICs heard of by LLDP;
 * addresses by the host's name or by the file.
 */
#pragma once

#include <jansson.h>

#include "controller/campaign/campaign.h"
#include "lib/base/pool.h"

struct err;
struct service;

struct campaign_party {
	struct campaign_guest guests[CAMPAIGN_HOSTS_MAX]; /* texts in `pool` */
	size_t n;
	struct pool pool;
};

/*
 * Those that `nodes` (an array of names) names, or, when it is NULL, all of the switch or domain
 * `domain`. One that has not passed its own tests is PAIRING_GONE, with the reason. -ENOENT for a
 * host or domain that is not known, -E2BIG for more than CAMPAIGN_HOSTS_MAX, -EBUSY while switches
 * are still read from the topologies that an older version left; others of the store.
 */
int campaign_party_find(struct service *s, const char *domain, const json_t *nodes,
			struct campaign_party *ret, struct err *err);

/* Where the host is: its switch (of rail 0), else its domain of the budgets. New memory, or NULL. */
char *campaign_party_place(struct service *s, const char *node);

/* -EBUSY with a sentence when it shares a host or a switch with one under way. */
int campaign_party_apart(const struct campaign_party *party, const struct campaign *c,
			 struct err *err);
void campaign_party_release(struct campaign_party *p);
