/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/beats_told.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/remediation.h"
#include "controller/cluster/cluster.h"
#include "controller/controller.h"
#include "controller/job/diagnosis_plan.h"
#include "controller/job/hang_board.h"
#include "controller/job/investigation.h"
#include "controller/job/jobs.h"
#include "controller/store/store_investigations.h"
#include "controller/store/store_jobs.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/policy.h"

/* The requester on record, in place of a person's name. */
#define WHO "jobs.on_stop"

void beats_told_stopped(struct service *s, const struct beats_told_job *job)
{
	CLEANUP(freep) char *still = xasprintf("%s stands still: %s", job->name, job->words);
	CLEANUP(freep) char *words = hang_board_words(s->hang_board, job->name, still);

	s->cluster->ops->event(s->cluster, &(struct cluster_event){ .job = job->name,
								    .reason = "AssayJobStopped",
								    .message = words,
								    .warning = true });
	log_warning("%s", words);
}

/* Has this run been diagnosed, no matter who requested it? */
static int look_diagnosed(struct service *s, int64_t id, int64_t run, bool *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *rows = NULL;
	size_t i;
	int r = store_investigations_of(s->store, id, 0, &rows, err);

	*ret = false;
	for (i = 0; r == 0 && i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *kind = json_string_value(json_object_get(row, "kind"));

		*ret |= streq(kind, investigation_kind_names[INVESTIGATION_DIAGNOSIS]) &&
			json_integer_value(json_object_get(row, "run")) == run;
	}
	return r;
}

static bool is_asked_for(struct service *s)
{
	const struct policy *policy = remediation_policy(s);

	return policy->jobs.on_stop == STOP_DIAGNOSE &&
	       policy_jobs_mode(&policy->jobs, (int)policy->mode) == MODE_ENFORCE;
}

/* Whether hosts need tests depends on which ranks have stopped: wait for the hosts' answers, and do
 * not test if the owner is at fault. */
static bool is_withheld(struct service *s, const char *job)
{
	const struct hang_noted *noted = hang_board_find(s->hang_board, job);

	return noted && (noted->awaited || noted->owner);
}

bool beats_told_diagnose(struct service *s, const struct beats_told_job *job)
{
	CLEANUP(freep) char *still = xasprintf("it stands still: %s", job->words);
	CLEANUP(freep) char *reason = hang_board_words(s->hang_board, job->name, still);
	const struct diagnosis_ask ask = { .who = WHO, .reason = reason, .run = job->run };
	CLEANUP(json_freep) json_t *plan = NULL;
	struct err err = ERR_INIT;
	bool diagnosed;
	int64_t id;
	int r;

	if (!is_asked_for(s) || is_withheld(s, job->name))
		return false;
	r = store_find_job(s->store, job->name, &id, &err);
	if (r == 0)
		r = look_diagnosed(s, id, job->run, &diagnosed, &err);
	if (r == 0 && diagnosed)
		return true;
	if (r == 0)
		r = jobs_diagnose(s, id, &ask, &plan, &err);
	if (r < 0) {
		log_warning("%s hangs, and its diagnosis did not start: %s", job->name, err.msg);
		return r == -EINVAL || r == -ENOENT; /* other obstacles may go away */
	}
	service_touch(s);
	log_info("diagnosis %" JSON_INTEGER_FORMAT " of %s begins: %s",
		 json_integer_value(json_object_get(plan, "id")), job->name, reason);
	return true;
}
