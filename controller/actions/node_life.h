/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events in a host's life: the state transition, its row, the host's record, its facts and its
 * condition, in that order and in one place, all written in the store's open transaction.
 */
#pragma once

#include "lib/base/macro.h"

struct actor_env;
struct err;
struct finding;
struct fleet_cause;
struct fleet_node;
struct life_change;

/*
 * Apply the event to the fleet's node and write down what changed. On error nothing has changed:
 * -ENOENT if the cluster does not have the host, -EINVAL if its state does not allow the event.
 */
int node_life_event(const struct actor_env *env, const char *node, const struct fleet_cause *cause,
		    struct err *err);

/* Write the row of a change made elsewhere. */
void node_life_note_change(const struct actor_env *env, const char *node,
			   const struct life_change *change);

/* Write the record of one host, or all, if it has changed; kept with the next commit. */
int node_life_keep(const struct actor_env *env, const struct fleet_node *node, struct err *err);
void node_life_keep_all(const struct actor_env *env);

/* Delete its record. */
void node_life_drop(const struct actor_env *env, const char *node);

/* Update its findings in the fleet from the windows in the store, and the jobs that by its own
 * reports it had ranks of recently. */
void node_life_load_findings(const struct actor_env *env, const char *node);

/*
 * Fill an empty fleet from the store. A host with a record is in the views until the cluster's
 * first list shows whether it exists.
 */
int node_life_load(const struct actor_env *env, struct err *err);

/* Name of the finding when reasons are counted: "gpu.xid 79". New memory. */
char *node_life_signature(const struct finding *finding);
