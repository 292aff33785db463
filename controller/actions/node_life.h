/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens to a host: the step of its life, the row of it, its record, its facts and its
 * condition, in that order and at one place. All of it is written in the store's open transaction.
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
 * Let it happen to the fleet's node, and write down what changed. -ENOENT for a host that the
 * cluster does not have, -EINVAL where its state does not allow it: nothing has changed then.
 */
int node_life_event(const struct actor_env *env, const char *node, const struct fleet_cause *cause,
		    struct err *err);

/* The row of what changed otherwise. */
void node_life_note_change(const struct actor_env *env, const char *node,
			   const struct life_change *change);

/* Keep its record, where it has changed, with the next commit; of one, of all. */
int node_life_keep(const struct actor_env *env, const struct fleet_node *node, struct err *err);
void node_life_keep_all(const struct actor_env *env);

/* Nothing is kept of it any more. */
void node_life_drop(const struct actor_env *env, const char *node);

/* Bring its findings in the fleet in line with the windows in the store, and the jobs that it says
 * it had ranks of lately. */
void node_life_load_findings(const struct actor_env *env, const char *node);

/*
 * Fill an empty fleet from the store. A host with a record is in the views until the cluster's
 * first list says whether it is there.
 */
int node_life_load(const struct actor_env *env, struct err *err);

/* What the finding is called where reasons are counted: "gpu.xid 79"; new memory. */
char *node_life_signature(const struct finding *finding);
