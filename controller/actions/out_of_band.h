/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out-of-band changes: what somebody did to a node at the cluster that its record does not know. An
 * uncordon by hand is an order; an unrecorded mark of ours is adopted.
 */
#pragma once

struct actor_env;
struct node_view;

/* Compare the node with its record. Does nothing while one of our actions is changing it. */
void out_of_band_look(const struct actor_env *env, struct node_view *view);
void out_of_band_look_all(const struct actor_env *env);
