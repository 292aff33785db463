/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests that the policy wants, of a host alone or with a partner: how they are ordered, what a
 * report says about them, and what follows from the result. Each is an action in PHASE_TEST.
 */
#pragma once

#include <jansson.h>

#include "controller/actions/actor.h"
#include "lib/base/macro.h"

struct action;
struct actor_env;
struct node_view;
struct report;

/* Text in the row of a finished test, by enum test_outcome. */
extern const char *const retest_words[];

/* actor_order(), actor_wants_others(), actor_tested_with_others() */
json_t *retest_order(const struct actor_env *env, const char *node);
bool retest_wants_others(const struct actor_env *env, struct actor_wanted *ret);
void retest_answered_with_others(const struct actor_env *env, const char *node, int outcome);

/* The test of the host with this order id, or NULL. */
struct action *retest_by_order(const struct actor_env *env, const char *node, const char *order_id);

/* Result in the newest run of the report's profile: enum test_outcome. */
int retest_outcome(const struct actor_env *env, const struct report *report,
		   const struct action *test);

/* A run of this profile answers the test: noted if it is another rung than requested. */
void retest_ran(const struct actor_env *env, struct action *test, const char *profile);

/* The test has ended; `deep`: with a fresh run of the profile full. */
void retest_answered(const struct actor_env *env, struct action *test, int outcome, bool deep);

/* The node is gone. */
void retest_drop(const struct actor_env *env, const struct node_view *host);

/* End the tests that were not answered in time, and those ended by a clean-up. */
void retest_end_late(const struct actor_env *env);
