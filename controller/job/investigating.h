/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The investigations of the service: with each judging of a job (job_judging.h) the facts of its hosts
 * are looked up, its record goes one step on (investigation.h) and is put into the open transaction
 * of the store. What is decided of a host that no record holds is not done: of what is asked of the
 * actor there is always one that a person can see and withdraw, and it is durable first.
 *
 * A job has one that goes on at most, and a host is in one at most: what another job says of it waits.
 * Nothing goes on while the nodes of the cluster are not known, or what it shows may be stale.
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
 * One step. Items of `judged` that are not to be done lose their effect, and those that a person
 * withdrew, or another job's investigation has, say so and are watched. `ret_open`: the number of
 * the one that goes on, 0: none.
 */
int investigating_step(struct investigating *k, struct service *s, int64_t job,
		       const struct job_judging_input *in, struct job_judged *judged,
		       int64_t *ret_open, struct err *err);

/*
 * Put it into the open transaction, where it is another than `before` (NULL: it is new), and count it.
 */
int investigating_keep(struct investigating *k, struct service *s, struct investigation *inv,
		       const json_t *before, struct err *err);

/* The job is not known any more: so it ends. */
int investigating_gone(struct investigating *k, struct service *s, int64_t job, struct err *err);

/*
 * A person withdraws one: `ret` is it as it is then, new reference. 1: one had done so, nothing has
 * changed; -ENOENT; -EALREADY: it has ended otherwise.
 */
int investigating_cancel(struct investigating *k, struct service *s, int64_t id, const char *who,
			 const char *reason, json_t **ret, struct err *err);

/* All is durable; or was taken back. */
void investigating_committed(struct investigating *k);
void investigating_failed(struct investigating *k);
