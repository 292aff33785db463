/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mode dry-run. What would be done is recorded, and the cluster is asked for it with the word
 * that it is not meant: so rights that are missing, and admission that refuses, are known before it
 * counts. Nothing is booked: no place, no rate.
 */
#pragma once

#include "controller/store/store_actions.h"

struct action_start;
struct actor_env;
struct actor_event;
struct node_view;

void dry_run(const struct actor_env *env, struct node_view *host, enum action_kind kind,
	     const struct action_start *start);

/* The answer (ACTOR_TRIED). */
void dry_run_answered(const struct actor_env *env, const struct actor_event *event);
