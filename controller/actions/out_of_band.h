/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out-of-band changes: what somebody did to a node at the cluster, which its record does not know.
 * An uncordon by hand is an order, a mark of ours that nobody recorded is adopted.
 */
#pragma once

struct actor_env;
struct node_view;

/* Compare the node with its record; nothing while an action of ours changes it. */
void out_of_band_look(const struct actor_env *env, struct node_view *view);
void out_of_band_look_all(const struct actor_env *env);
