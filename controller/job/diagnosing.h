/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The diagnosis of a job, requested by a person (docs/jobs.md, 9): an investigation of its own
 * kind, which advances each time the job is judged:
 *
 *   stopping --> hosts --> groups --> done
 *
 * The job is stopped by an acknowledged advice, or by hand. Its hosts are tested, and those that
 * passed are measured with each other (lib/policy/diagnosis.h); then its owner is advised to start
 * it without the bad ones. Each step is stored before its consequences, and repeating it after a
 * restart with the same facts changes nothing. Nothing is evicted.
 *
 * - a job has at most one open investigation, of either kind, and a host is in at most one: a
 *   second one is refused;
 * - its only effects are test orders, which end with it, whoever ends it.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/job/investigating.h"
#include "controller/job/job_judging.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;
struct service;

/* A test not ordered by then is given up: the breaker, a silence or an owner blocks it. */
#define DIAGNOSING_ORDER_US (10 * USEC_PER_MIN)
/* Time after the stop until which hosts are asked and waited for. */
#define DIAGNOSING_TESTS_US (2 * USEC_PER_HOUR)

/* Does a job run on the host, according to the cluster or to the host itself? */
int diagnosing_busy(const struct job_judging_input *in, const char *name, bool *ret,
		    struct err *err);

/* Result of a step. */
struct diagnosing_now {
	bool open;     /* it is a diagnosis in progress */
	bool advised;  /* there is new advice */
	json_t *asked; /* hosts to test: {name: stamp}; NULL: none. Owned */
};

/* Advance the open investigation `id` by one step. Does nothing for the other kind. */
int diagnosing_step(struct investigating *k, struct service *s, const struct job_judging_input *in,
		    int64_t id, struct diagnosing_now *ret, struct err *err);

/* The blame for one of the hosts in `asked`. Borrows the job's name. */
struct blame diagnosing_blame(const struct job_judging_input *in, const json_t *asked_stamp);

/*
 * A person has withdrawn the investigation, given in its current state: end what it started.
 * Returns 1 if there is new advice. Does nothing for the other kind.
 */
int diagnosing_withdrawn(struct service *s, const json_t *investigation, struct err *err);

/* The job is no longer known: end its diagnosis. */
int diagnosing_gone(struct investigating *k, struct service *s, int64_t job, struct err *err);
