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

#include "lib/base/macro.h"
#include "lib/base/map.h"
#include "lib/policy/deny.h"

struct actor_env;

/* Zero it before its first use. */
struct admissions {
	struct map hosts; /* of struct admission */
	struct denials denials;
	bool deny_told;			  /* the incident of budget.deny is as it should be */
	bool startup_told, startup_alarm; /* likewise that of start-up taints; it stands */
	uint64_t startup_open_us; /* monotonic: one was lifted without a pass, the last time; 0: none */
};

/* Forget the hosts; what stands as an incident is remembered. */
void admissions_release(struct admissions *all);
void admissions_drop(struct admissions *all, const char *node);

/* Who is to let jobs in although it refuses them: counted anew. Only with what is decided. */
void admissions_deny(struct admissions *all, const struct actor_env *env);

/* Why it lets them in, borrowed; NULL: it need not. */
const char *admissions_let_in(const struct admissions *all, const char *node);

/* All start-up taints; that of one whose report is durable. */
void admissions_startup(struct admissions *all, const struct actor_env *env);
void admissions_reported(struct admissions *all, const struct actor_env *env, const char *node);

/* Why its taint stays, borrowed; NULL: nothing was recorded of it. */
const char *admissions_stays(const struct admissions *all, const char *node);
