/* SPDX-License-Identifier: Apache-2.0 */
/* What the API shows of the actor; new references. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct actor;
struct fleet_view_state;
struct err;

/*
 * {"state", "since", "by", "cordon": {mark}|null, "schedulable", "override_until", "silence_until",
 * "hold": {until, by}|null, "passes", "tested", "managed", "hands_off", "unverified", "labels",
 * "undo"}. NULL for a host that the cluster does not have.
 */
json_t *actor_node_json(const struct actor *actor, const char *node);

/*
 * Does it take jobs, and who has it that it does not? {"state", "by", "reason", "since",
 * "hold_until", "silence_until", "override_until", "unverified"}; NULL for a host that the cluster
 * does not have.
 */
json_t *actor_service_json(const struct actor *actor, const char *node);

/*
 * Its life, service and domain, the latter borrowed until the loop goes on; without them for one
 * that the cluster does not have. Nothing else of `ret` is written.
 */
void actor_view_host(const struct actor *actor, const char *node, struct fleet_view_state *ret);

/* Of this controller among those that act; 0: not known yet. */
uint64_t actor_view_epoch(const struct actor *actor);

/*
 * Hosts whose findings are silenced now, or that an override keeps in service: [{"node", "until"}],
 * by name.
 */
json_t *actor_orders_json(const struct actor *actor, bool silences);

/* Is it a node of the cluster? 0: it reports, and is nobody's to act on. -1: not known yet. */
int actor_in_cluster(const struct actor *actor, const char *node);

/* {"open", "reason", "by", "at", "reset", "mode", "epoch", "stale", "budget": [{rule, used, limit}]} */
json_t *actor_breaker_json(const struct actor *actor);

/* Hosts whose deep verdict is older than it may be, the oldest first: [{node, tested, ordered}]. */
json_t *actor_coverage_json(const struct actor *actor);

/*
 * What an RMA needs of what was done: {"life", "transitions", "actions"}, newest first. -ENOENT for
 * a host that nothing is known of.
 */
int actor_evidence(const struct actor *actor, const char *node, json_t **ret_bundle,
		   struct err *err);
