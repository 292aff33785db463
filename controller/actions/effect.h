/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Effects: what each kind of action does to the cluster, and what is booked when it is done. One
 * row a kind; when to do it, and whether it may be done, is action_step.h.
 */
#pragma once

#include <stdint.h>

#include "controller/store/store_actions.h"
#include "lib/base/macro.h"

struct action;
struct action_start;
struct actor_env;
struct node_view;

/* Has the kind (enum action_kind) an effect outside? */
bool effect_is_outside(int kind);

/* Why it is no longer to be done, as its node has changed since, or NULL. Static. */
const char *effect_overtaken(const struct actor_env *env, const struct action *a);

/*
 * Ask the cluster for it, as it is: no record, no budget. Only of kinds with an effect outside. The
 * answer is ACTOR_APPLIED; ACTOR_TRIED of an action that is a dry run.
 */
void effect_send(const struct actor_env *env, struct action *a);

/* It is done: book it, without doing it again. What is said of it, new memory. */
char *effect_complete(const struct actor_env *env, struct action *a);

/* --- the mode dry-run --- */

/*
 * What would be done is recorded, and the cluster is asked for it with the word that it is not
 * meant: so rights that are missing, and admission that refuses, are known before it counts.
 * Nothing is booked: no place, no rate.
 */
void effect_try(const struct actor_env *env, struct node_view *host, enum action_kind kind,
		const struct action_start *start);
