/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's interface to the actor. Only driver_seam.c includes the actor's headers and reads
 * the rows it writes, so only that file has to follow when they change.
 *
 * What it uses: actor_open actor_stop actor_close, actor_report actor_committed actor_failed
 * actor_tick, actor_ask actor_leave, actor_order actor_wants_others actor_tested_with_others
 * actor_paired, actor_cordoned actor_let_in actor_stale actor_counts actor_node_json; struct
 * actor_options; the kinds and states of store_actions.h; columns of the tables actions,
 * transitions and incidents.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct controller;
struct driver;
struct report;
struct store_report;

/* Opens the store, and the actor on the controller's cluster. */
void seam_open(struct controller *c);

/* Kills the process: uncommitted changes are lost. */
void seam_kill(struct controller *c);

/* Commits the store, without notifying the actor. */
void seam_commit(struct controller *c);

/* Fails the commit: changes since the last one are lost, and the actor is notified. */
void seam_fail(struct controller *c);
bool seam_dirty(const struct controller *c);
void seam_committed(struct controller *c);
void seam_tick(struct controller *c);

/* Called after the report's findings were written to the store. */
void seam_report(struct controller *c, const struct report *report, unsigned replaced);

/* Returns the id of the test ordered from the host, or NULL. The caller frees it. */
char *seam_order(struct controller *c, const char *node);

/* Returns whether a test with another host is wanted. The names are borrowed until the loop runs. */
bool seam_wants_others(struct controller *c, const char **ret_node, const char **ret_partner);
void seam_tested_with_others(struct controller *c, const char *node, bool good);

/* Tests with other hosts found the node bad, or good again. */
void seam_with_others(struct controller *c, const char *node, const char *partner, bool bad);

/* A person's order. */
enum seam_order {
	SEAM_CORDON,
	SEAM_GLASS, /* a cordon beyond the budgets */
	SEAM_UNCORDON,
	SEAM_HOLD,
	SEAM_OVERRIDE,
	SEAM_SILENCE,
	SEAM_REPAIR_DONE,
	SEAM_RESET,
};
void seam_ask(struct controller *c, enum seam_order order, const char *node, uint64_t until_us);

/* The client of the last request disconnects. */
void seam_leave(struct controller *c);

/* --- observing the actor and the store --- */

/* Returns the gauges of budgets and breaker on one line. The caller frees it. */
char *seam_budgets(const struct controller *c);

/* Returns the counters since its start on one line. The caller frees it. */
char *seam_counts(const struct controller *c);

/* Returns the API's JSON of the node on one line, or NULL. The caller frees it. */
char *seam_node(const struct controller *c, const char *node);

/* Does that JSON say that we took the node out of service? Returns -1 for an unknown node. */
int seam_holds(const struct controller *c, const char *node);

/* A row of an action. Strings are borrowed until the callback returns. */
struct seam_action {
	int64_t id, incident;
	const char *node, *who, *rule, *reason, *text, *result;
	int kind, state; /* enum action_kind, enum action_state */
	bool glass;
	uint64_t until_us, epoch, decided_us, done_us; /* done_us 0: in progress */
};

/* Visits the actions from id `from` on, in order. */
void seam_actions(struct controller *c, int64_t from,
		  void (*each)(void *context, const struct seam_action *action), void *context);

struct seam_transition {
	int64_t id;
	const char *node, *event, *who, *why;
	int before, after;
	uint64_t at_us;
};

void seam_transitions(struct controller *c, int64_t after,
		      void (*each)(void *context, const struct seam_transition *t), void *context);

struct seam_incident {
	int64_t id;
	const char *node, *check, *sentence;
	uint64_t opened_us, closed_us;
};

/* Visits open incidents, and all after id `after`. */
void seam_incidents(struct controller *c, int64_t after,
		    void (*each)(void *context, const struct seam_incident *incident),
		    void *context);

/* Names of action kinds and states; NULL beyond the last. */
const char *seam_kind(int kind);
const char *seam_state(int state);

/* Returns the kind of action that the store must have for this effect on the cluster; -1: none. */
int seam_kind_of(int op, bool sets);
bool seam_is_test(int kind);
bool seam_is_cordon(int kind);

enum seam_progress {
	SEAM_UNDER_WAY,
	SEAM_DONE,
	SEAM_FAILED,
	SEAM_DROPPED,
	SEAM_REHEARSED,
	SEAM_REFUSED
};
enum seam_progress seam_progress(int state);
