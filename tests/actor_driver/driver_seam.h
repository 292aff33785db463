/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The actor as the driver sees it. driver_seam.c is the one file that includes the actor's
 * headers, reads what it writes to the store, and so is to be changed when they are.
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

/* Open the store and the actor on the controller's cluster. */
void seam_open(struct controller *c);

/* The process is gone: what was not committed is lost. */
void seam_kill(struct controller *c);

/* What was put into the store becomes durable; not told to the actor yet. */
void seam_commit(struct controller *c);

/* What was put into it since the last commit is gone, and the actor is told so. */
void seam_fail(struct controller *c);
bool seam_dirty(const struct controller *c);
void seam_committed(struct controller *c);
void seam_tick(struct controller *c);

/* After what is said of it was put into the store. */
void seam_report(struct controller *c, const struct report *report, unsigned replaced);

/* The id of the test that the host is to do, or NULL; new memory. */
char *seam_order(struct controller *c, const char *node);

/* A test with another that is wanted; false: none. `ret_node` borrowed until the loop goes on. */
bool seam_wants_others(struct controller *c, const char **ret_node, const char **ret_partner);
void seam_tested_with_others(struct controller *c, const char *node, bool good);

/* Tests with others found it bad, or good again. */
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

/* Whoever asked last is gone. */
void seam_leave(struct controller *c);

/* --- what is shown, and what is in the store --- */

/* Gauges of the budgets and the breaker, one line; new memory. */
char *seam_budgets(const struct controller *c);

/* What happened since its start, one line; new memory. */
char *seam_counts(const struct controller *c);

/* What the API shows of the node, one line; new memory, or NULL. */
char *seam_node(const struct controller *c, const char *node);

/* Does it say that the node is out of service because of us? -1: it knows no such node. */
int seam_holds(const struct controller *c, const char *node);

/* A row of an action; texts borrowed until the callback returns. */
struct seam_action {
	int64_t id, incident;
	const char *node, *who, *rule, *reason, *text, *result;
	int kind, state; /* enum action_kind, enum action_state */
	bool glass;
	uint64_t until_us, epoch, decided_us, done_us; /* done_us 0: under way */
};

/* Those from number `from` on, in their order. */
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

/* Those that are open, and those after number `after`. */
void seam_incidents(struct controller *c, int64_t after,
		    void (*each)(void *context, const struct seam_incident *incident),
		    void *context);

/* Names of kinds and states; NULL beyond the last. */
const char *seam_kind(int kind);
const char *seam_state(int state);

/* What an effect on the cluster has to have in the store: a kind of action; -1: nothing. */
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
