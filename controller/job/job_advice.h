/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice to whoever started a job (advice.h), of what is decided about its hosts. Each is in the
 * store before anybody is told of it.
 *
 * Spares are idle hosts of the model of those that are to be replaced, in service and in nobody's
 * hands, on which nothing is bad and whose last test of the profile full is no older than a day:
 * one for each, the same in each answer while they stay so. Where the cluster tells which jobs run
 * on a host it is asked of those that may be spares (`asked` of the input), and nothing is said of
 * spares until it has answered; of those that a stop named it is asked until the job resumes.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/job/job_judging.h"
#include "controller/job/job_prediction.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;
struct fleet_node;
struct store;

/* A host that was tested longer ago is no spare. */
#define JOB_ADVICE_TESTED_US USEC_PER_DAY

enum {
	JOB_ADVICE_HOSTS_MAX = 192, /* that one names: those of three suspects */
	JOB_ADVICE_ASKED_MAX = 4,   /* hosts that may be spares, each time the job is judged */
};

/* What job_advice_judged() returns, bits. */
enum {
	JOB_ADVICE_WROTE = 1,	  /* something goes with the next commit */
	JOB_ADVICE_NEWS = 2,	  /* ... another advice */
	JOB_ADVICE_UNDER_WAY = 4, /* the job is to be judged again, suspects or not */
};

/*
 * A job was judged: keep and check what is predicted of it (job_prediction_judged(), which says
 * what becomes of `view`), and advise what follows. Bits, or an error of the store.
 */
int job_advice_judged(const struct job_judging_input *in, const struct job_judged *judged,
		      int64_t job, json_t *view, struct err *err);

/* Names, borrowed. */
struct job_advice_ask {
	const json_t *hosts; /* to be replaced */
	const json_t *own;   /* are no spares: those, or all hosts of the job */
	size_t most;	     /* spares */
};

/* Could it be one now, of its own model? */
int job_advice_is_spare(const struct job_judging_input *in, const struct fleet_node *node,
			bool *ret, struct err *err);

/* Spares, at most one for each of the hosts, are added to `names`. */
int job_advice_spares(const struct job_judging_input *in, const struct job_advice_ask *ask,
		      json_t *names, struct err *err);

/*
 * The last one of a job with a number above `after`, as the API gives it: new reference, or NULL
 * when there is none such. Of a job that was never advised it is number 0, to continue.
 */
int job_advice_show(struct store *store, int64_t job, int64_t after, uint64_t now_us, json_t **ret,
		    struct err *err);

/*
 * Whoever acts on it says so: durable with the next commit; `ret` is the advice. Again is as once,
 * whatever has come since. -EEXIST: it is not the job's newest; -ETIME: it had expired; each with a
 * sentence.
 */
int job_advice_acknowledge(struct store *store, int64_t job, int64_t id, uint64_t now_us,
			   json_t **ret, struct err *err);
