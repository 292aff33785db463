/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's investigations: each time a job is judged (job_judging.h) the facts of its hosts
 * are looked up, and its record advances by one step (investigation.h) and is put into the store's
 * open transaction. Only hosts in a record are acted on: for whatever is asked of the actor there
 * is a record that a person can see and withdraw, and it is durable first.
 *
 * A job has at most one open investigation, and a host is in at most one: accusations by another
 * job wait. Nothing advances while the nodes of the cluster are unknown or may be stale.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/job/investigation.h"
#include "controller/job/job_judging.h"
#include "lib/base/macro.h"

struct err;
struct service;

/* How many were begun (INVESTIGATION_OPEN) and how they ended, since the start. */
struct investigating {
	uint64_t counts[INVESTIGATION_STATES];
	uint64_t uncommitted[INVESTIGATION_STATES];
};

/*
 * Advance by one step. Items of `judged` that must not be carried out lose their effect; those that
 * a person withdrew, or that another job's investigation has, say so and are watched. `ret_open`:
 * number of the open investigation, 0: none.
 */
int investigating_step(struct investigating *k, struct service *s, int64_t job,
		       const struct job_judging_input *in, struct job_judged *judged,
		       int64_t *ret_open, struct err *err);

/* Put it into the open transaction if it differs from `before` (NULL: it is new), and count it. */
int investigating_keep(struct investigating *k, struct service *s, struct investigation *inv,
		       const json_t *before, struct err *err);

/* The job is no longer known: end its investigation. */
int investigating_gone(struct investigating *k, struct service *s, int64_t job, struct err *err);

/*
 * A person withdraws one. `ret` is its new state, new reference. Returns 1 if it was withdrawn
 * before and nothing changed; -ENOENT; -EALREADY if it has ended otherwise.
 */
int investigating_cancel(struct investigating *k, struct service *s, int64_t id, const char *who,
			 const char *reason, json_t **ret, struct err *err);

/* The transaction was committed, or rolled back. */
void investigating_committed(struct investigating *k);
void investigating_failed(struct investigating *k);
