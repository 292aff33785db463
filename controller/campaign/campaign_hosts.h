/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which hosts may take part in a campaign, and where they are. The switches come from the
 * operator's file (rail_map.h), else from a label of the node, else from what its RNICs received by
 * LLDP. The address is the host's name, or comes from the cluster or the file, as the settings say.
 */
#pragma once

#include <jansson.h>

#include "controller/campaign/campaign.h"
#include "lib/base/pool.h"

struct err;
struct service;

struct campaign_party {
	struct campaign_guest guests[CAMPAIGN_HOSTS_MAX]; /* strings in `pool` */
	size_t n;
	struct pool pool;
};

/*
 * Finds the hosts named in `nodes` (an array), or if that is NULL, all hosts of the switch or
 * domain `domain`. A host that may not take part, e.g. because it has not passed its own tests, is
 * PAIRING_GONE, and its `why` says why. Returns -ENOENT for an unknown host or domain, -E2BIG for
 * more than CAMPAIGN_HOSTS_MAX hosts, -EBUSY while switches are still being read from topologies
 * stored by an older version, or an error of the store.
 */
int campaign_party_find(struct service *s, const char *domain, const json_t *nodes,
			struct campaign_party *ret, struct err *err);

/*
 * Returns where the host is: its switch of rail 0, else its domain by the policy's domain label,
 * else NULL. The caller frees it.
 */
char *campaign_party_place(struct service *s, const char *node);

/* Returns -EBUSY with a sentence if `c` is running and has a host or a switch in common with it. */
int campaign_party_apart(const struct campaign_party *party, const struct campaign *c,
			 struct err *err);
void campaign_party_release(struct campaign_party *p);
