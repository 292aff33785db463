/* SPDX-License-Identifier: Apache-2.0 */
/* The actor's state as shown by the API. Returns new references. */
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
 * "undo"}. NULL if the cluster does not have the host.
 */
json_t *actor_node_json(const struct actor *actor, const char *node);

/*
 * Does it accept jobs, and if not, on whose behalf? {"state", "by", "reason", "since",
 * "hold_until", "silence_until", "override_until", "unverified"}; NULL if the cluster does not have
 * the host.
 */
json_t *actor_service_json(const struct actor *actor, const char *node);

/*
 * Fill in its life, service and domain (borrowed until control returns to the loop), or clear them
 * if the cluster does not have the host. Nothing else in `ret` is written.
 */
void actor_view_host(const struct actor *actor, const char *node, struct fleet_view_state *ret);

/* The epoch of this controller; 0: not known yet. */
uint64_t actor_view_epoch(const struct actor *actor);

/* Hosts with silenced findings, or kept in service by an override: [{"node", "until"}], by name. */
json_t *actor_orders_json(const struct actor *actor, bool silences);

/* Is it a node of the cluster? 0: no, it only reports, and is never acted on. -1: not known yet. */
int actor_in_cluster(const struct actor *actor, const char *node);

/* {"open", "reason", "by", "at", "reset", "mode", "epoch", "stale", "budget": [{rule, used, limit}]} */
json_t *actor_breaker_json(const struct actor *actor);

/* Hosts whose last full test is overdue, oldest first: [{node, tested, ordered}]. */
json_t *actor_coverage_json(const struct actor *actor);

/*
 * The history of actions that an RMA needs: {"life", "transitions", "actions"}, newest first.
 * -ENOENT if the host is unknown.
 */
int actor_evidence(const struct actor *actor, const char *node, json_t **ret_bundle,
		   struct err *err);
