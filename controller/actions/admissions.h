/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeping jobs off hosts without a cordon.
 *
 * Hosts also refuse jobs on their own: a host that saw a fatal signature answers "bad" to every
 * admission, in every mode and regardless of the controller. If one signature does so on more hosts
 * than budget.deny allows, the cause is something they share (a table, a driver, a switch): the
 * other hosts are told to admit jobs as degraded, and operators are told which signature it is.
 *
 * Start-up taints: a host that has joined takes no jobs until it was tested. lib/policy/startup.h
 * decides on each; here is the state, and the records: one action when the taint is removed, and
 * one for each reason why it stays.
 */
#pragma once

#include <stdint.h>

#include "controller/store/store.h"
#include "lib/base/macro.h"
#include "lib/policy/deny.h"

struct actor_env;
struct node_view;
struct node_views;

/* State of one host: part of its struct node_view. */
struct admission {
	char *let_in; /* why it admits jobs nevertheless, or NULL */
	/* For a host with the start-up taint: */
	bool read;
	uint64_t read_us; /* the report this is based on, as fleet_node.reported_us */
	struct store_tested tested;
	char *stays; /* why the taint stays, as last recorded; or NULL */
};

/* Zero it before first use. */
struct admissions {
	struct denials denials;
	bool deny_told;			  /* the incident of budget.deny is up to date */
	bool startup_told, startup_alarm; /* the same for start-up taints; its incident is open */
	uint64_t startup_open_us; /* monotonic: last time a taint was lifted without a pass; 0: never */
};

/* Forget the hosts, but remember which incidents are open. */
void admissions_release(struct admissions *all, struct node_views *views);
void admissions_drop(struct node_view *host);

/*
 * Recompute which hosts must admit jobs although they refuse them. Called only with the decisions.
 */
void admissions_deny(struct admissions *all, const struct actor_env *env);

/* Decide on all start-up taints; or on that of one host whose report is durable. */
void admissions_startup(struct admissions *all, const struct actor_env *env);
void admissions_reported(struct admissions *all, const struct actor_env *env, const char *node);
