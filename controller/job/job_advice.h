/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice to whoever started a job (advice.h), derived from the decisions on its hosts. Each advice
 * is stored before anybody is told.
 *
 * Spares are idle hosts of the same model as those to be replaced: in service, not used by anybody,
 * without findings, and with a full test at most a day old. Each host gets one, and answers name
 * the same ones while these qualify. If the cluster tells which jobs run on a host, it is asked for
 * those of potential spares (`asked` in the input), and spares are not mentioned until it has
 * answered; for the spares named in a stop it is asked until the job resumes.
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

/* A host tested longer ago is not a spare. */
#define JOB_ADVICE_TESTED_US USEC_PER_DAY

enum {
	JOB_ADVICE_HOSTS_MAX = 192, /* per advice: the hosts of three suspects */
	JOB_ADVICE_ASKED_MAX = 4,   /* potential spares, each time the job is judged */
};

/* Return value of job_advice_judged(), bits. */
enum {
	JOB_ADVICE_WROTE = 1,	  /* something was written for the next commit */
	JOB_ADVICE_NEWS = 2,	  /* ... a new advice */
	JOB_ADVICE_UNDER_WAY = 4, /* judge the job again, with or without suspects */
};

/*
 * A job was judged: store and check predictions (job_prediction_judged(), which describes what it
 * does to `view`), and give the resulting advice. Returns bits, or an error of the store.
 */
int job_advice_judged(const struct job_judging_input *in, const struct job_judged *judged,
		      int64_t job, json_t *view, struct err *err);

/* Names, borrowed. */
struct job_advice_ask {
	const json_t *hosts; /* to be replaced */
	const json_t *own;   /* not usable as spares: those, or all hosts of the job */
	size_t most;	     /* number of spares */
};

/* Could the host be a spare for its own model now? */
int job_advice_is_spare(const struct job_judging_input *in, const struct fleet_node *node,
			bool *ret, struct err *err);

/* Add spares to `names`, at most one for each of the hosts. */
int job_advice_spares(const struct job_judging_input *in, const struct job_advice_ask *ask,
		      json_t *names, struct err *err);

/*
 * The newest advice for a job with a number above `after`, as shown by the API: new reference, NULL
 * if there is none. A job without any has number 0, to continue.
 */
int job_advice_show(struct store *store, int64_t job, int64_t after, uint64_t now_us, json_t **ret,
		    struct err *err);

/*
 * An advice was acted on: durable with the next commit; `ret` is the advice. May be repeated,
 * whatever has come since. Returns, with a sentence, -EEXIST if it is not the job's newest, -ETIME
 * if it had expired.
 */
int job_advice_acknowledge(struct store *store, int64_t job, int64_t id, uint64_t now_us,
			   json_t **ret, struct err *err);
