/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps jobs off hosts without a cordon.
 *
 * What hosts refuse jobs for by themselves counts too. A host that saw a fatal signature answers
 * "bad" to every admission, in every mode and whatever the controller thinks. When one signature
 * does that on more hosts than budget.deny allows, what they share is wrong (a table, a driver, a
 * switch): the others are told to let jobs in as degraded, and people are told which signature it
 * is.
 *
 * Start-up taints: a host that has joined takes no jobs until it was tested. What is decided about
 * each is lib/policy/startup.h; here is what is known of it, and what is recorded: one action when
 * the taint goes, one for each reason why it stays.
 */
#pragma once

#include <stdint.h>

#include "controller/store/store.h"
#include "lib/base/macro.h"
#include "lib/policy/deny.h"

struct actor_env;
struct node_view;
struct node_views;

/* What is known of one host: a part of its struct node_view. */
struct admission {
	char *let_in; /* why it admits jobs all the same, or NULL */
	/* Of one with the start-up taint: */
	bool read;
	uint64_t read_us; /* the report that it goes by, as fleet_node.reported_us */
	struct store_tested tested;
	char *stays; /* why it stays, as it was recorded; or NULL */
};

/* Zero it before its first use. */
struct admissions {
	struct denials denials;
	bool deny_told;			  /* the incident of budget.deny is as it should be */
	bool startup_told, startup_alarm; /* likewise that of start-up taints; it stands */
	uint64_t startup_open_us; /* monotonic: one was lifted without a pass, the last time; 0: none */
};

/* Forget the hosts; what stands as an incident is remembered. */
void admissions_release(struct admissions *all, struct node_views *views);
void admissions_drop(struct node_view *host);

/* Who is to let jobs in although it refuses them: counted anew. Only with what is decided. */
void admissions_deny(struct admissions *all, const struct actor_env *env);

/* All start-up taints; that of one whose report is durable. */
void admissions_startup(struct admissions *all, const struct actor_env *env);
void admissions_reported(struct admissions *all, const struct actor_env *env, const char *node);
