/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests that the policy wants, of a host alone or with another: how they are ordered, what a report
 * says of them, and what follows when one has ended. Each is an action in PHASE_TEST.
 */
#pragma once

#include <jansson.h>

#include "controller/actions/actor.h"
#include "lib/base/macro.h"

struct action;
struct actor_env;
struct node_view;
struct report;

/* What its row says of a test that is over, by enum test_outcome. */
extern const char *const retest_words[];

/* actor_order(), actor_wants_others(), actor_tested_with_others() */
json_t *retest_order(const struct actor_env *env, const char *node);
bool retest_wants_others(const struct actor_env *env, struct actor_wanted *ret);
void retest_answered_with_others(const struct actor_env *env, const char *node, int outcome);

/* The test of the host that this order was for, or NULL. */
struct action *retest_by_order(const struct actor_env *env, const char *node, const char *order_id);

/* What the newest run of the report's profile says of it: enum test_outcome. */
int retest_outcome(const struct actor_env *env, const struct report *report,
		   const struct action *test);

/* A run of this profile answers it: noted where it is another rung than was asked for. */
void retest_ran(const struct actor_env *env, struct action *test, const char *profile);

/* It has ended, one way or the other; `deep`: by a fresh run of the profile full. */
void retest_answered(const struct actor_env *env, struct action *test, int outcome, bool deep);

/* The node is gone. */
void retest_drop(const struct actor_env *env, const struct node_view *host);

/* Those that nobody answers, and those that a clean-up has ended. */
void retest_end_late(const struct actor_env *env);
