/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A person asks for the diagnosis of a job (docs/jobs.md, 9): an investigation of its own kind,
 * which goes on with each judging of the job:
 *
 *	stopping --> hosts --> groups --> done
 *
 * It is stopped by advice, which somebody acknowledges, or by hand; its hosts are tested, and those
 * that passed measured with each other, as lib/policy/diagnosis.h says; then who started it is
 * advised to start it without those that are bad. Each step is in the store before what follows
 * from it, and repeated after a restart with the same facts changes nothing. Nothing is evicted.
 *
 *  - a job has one investigation that goes on at most, of whichever kind, and a host is in one at
 *    most: a second is refused;
 *  - it holds nothing but orders of tests: they end with it, whoever ends it.
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

/* A test that nobody ordered by then brings nothing: the breaker, a silence, an owner in its way. */
#define DIAGNOSING_ORDER_US (10 * USEC_PER_MIN)
/* So long after the stop the last host is asked, and waited for. */
#define DIAGNOSING_TESTS_US (2 * USEC_PER_HOUR)

/* Does a job run on the host, by the cluster or by what it says itself? */
int diagnosing_busy(const struct job_judging_input *in, const char *name, bool *ret,
		    struct err *err);

/* What a step comes to. */
struct diagnosing_now {
	bool open;     /* it is a diagnosis, and goes on */
	bool advised;  /* somebody is advised something else */
	json_t *asked; /* hosts that are to be tested: {name: stamp}; NULL: none. Owned */
};

/* One step of the investigation `id` that goes on; nothing happens to one of another kind. */
int diagnosing_step(struct investigating *k, struct service *s, const struct job_judging_input *in,
		    int64_t id, struct diagnosing_now *ret, struct err *err);

/* What is said of one of `asked`. The job's name stays borrowed. */
struct blame diagnosing_blame(const struct job_judging_input *in, const json_t *asked_stamp);

/*
 * A person has withdrawn the investigation, as it is now: what it began ends. 1: somebody is
 * advised something else. Nothing happens for one of another kind.
 */
int diagnosing_withdrawn(struct service *s, const json_t *investigation, struct err *err);

/* The job is not known any more: so it ends. */
int diagnosing_gone(struct investigating *k, struct service *s, int64_t job, struct err *err);
