/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/diagnosis_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/actor.h"
#include "controller/cluster/cluster.h"
#include "controller/controller.h"
#include "controller/fleet/hosts.h"
#include "controller/job/diagnosing.h"
#include "controller/job/diagnosis_record.h"
#include "controller/store/store.h"
#include "controller/store/store_investigations.h"
#include "controller/store/store_placements.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/blame.h"
#include "lib/policy/diagnosis.h"
#include "lib/policy/fleet.h"

/* --- objections --- */

static int check_now(struct service *s, struct err *err)
{
	const char *stale = actor_stale(s->act), *stopped = cluster_stopped(s->cluster);

	if (!actor_knows(s->act) || stale)
		return err_set(err, EAGAIN, "%s",
			       stale ? stale : "the nodes of the cluster are not known yet");
	return stopped ? err_set(err, EALREADY, "%s", stopped) : 0;
}

/* Returns -EALREADY: investigation `row` has it. */
static int refuse(const json_t *row, const char *what, struct err *err)
{
	const json_int_t id = json_integer_value(json_object_get(row, "id"));
	const char *job = json_string_value(json_object_get(row, "job"));

	return err_set(
		err, EALREADY,
		"investigation %" JSON_INTEGER_FORMAT " of %s is investigating %s: wait for it to "
		"end, or withdraw it (assayctl investigation %" JSON_INTEGER_FORMAT " cancel)",
		id, job ? job : "a job", what, id);
}

static int check_job(const struct job_judging_input *in, struct err *err)
{
	CLEANUP(json_freep) json_t *rows = NULL;
	size_t i;
	int r = store_investigations_of(in->store, in->id, in->now_us, &rows, err);

	for (i = 0; r == 0 && i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (json_is_null(json_object_get(row, "ended")))
			r = refuse(row, "it already", err);
	}
	return r;
}

static int check_hosts(const struct job_judging_input *in, const json_t *names, struct err *err)
{
	size_t i;
	int r = 0;

	if (json_array_size(names) == 0)
		return err_set(err, EINVAL,
			       "no host has reported ranks of %s within a day, so there is nothing "
			       "to test (set ASSAY_JOB in the environment of its processes)",
			       in->job);
	if (json_array_size(names) > DIAGNOSIS_HOSTS_MAX)
		return err_set(err, EINVAL, "%s has more than %d hosts", in->job,
			       DIAGNOSIS_HOSTS_MAX);
	for (i = 0; r == 0 && i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));
		CLEANUP(json_freep) json_t *other = NULL;

		r = store_investigation_of_host(in->store, in->id, name, &other, err);
		if (r == 0 && other)
			r = refuse(other, name, err);
	}
	return r;
}

/* --- the plan --- */

static int add_host(const struct job_judging_input *in, const char *name, json_t *hosts,
		    bool *ret_busy, struct err *err)
{
	const struct fleet_node *node = fleet_find(in->fleet, name);
	bool busy = false;
	int r = diagnosing_busy(in, name, &busy, err);

	*ret_busy |= busy;
	(void)json_array_append_new(
		hosts, json_pack("{s:s, s:s?, s:b}", "node", name, "domain",
				 node ? names_text(&in->fleet->domains, node->domain) : NULL,
				 "idle", !busy));
	return r;
}

static json_t *sentence_of(int mode, const char *job, size_t n, bool busy)
{
	const char *stop = busy ? mode == MODE_ENFORCE ? "advises stopping it, and "
						       : "would advise stopping it, and "
				: "";

	return json_sprintf("diagnosis of %s %s%s %zu host%s, then those that pass with each other "
			    "in at most %zu rounds%s",
			    job, stop,
			    mode == MODE_ENFORCE ? "tests"
			    : busy		 ? "test"
						 : "would test",
			    n, n == 1 ? "" : "s", diagnosis_rounds(n),
			    mode == MODE_ENFORCE ? ""
						 : "; nothing is done: the mode is not enforce");
}

static int make_plan(const struct job_judging_input *in, const json_t *names, json_t **ret,
		     struct err *err)
{
	const int mode = policy_jobs_mode(&in->policy->jobs, (int)in->policy->mode);
	const size_t n = json_array_size(names);
	CLEANUP(json_freep) json_t *hosts = json_array();
	bool busy = false;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < n; i++)
		r = add_host(in, json_string_value(json_array_get(names, i)), hosts, &busy, err);
	if (r == 0)
		*ret = json_pack("{s:n, s:s, s:s, s:o, s:O, s:b, s:I, s:I, s:o}", "id", "mode",
				 policy_mode_names[mode], "job", in->job, "job_id",
				 json_sprintf("j%" PRId64, in->id), "hosts", hosts, "stops", busy,
				 "tests", (json_int_t)n, "rounds", (json_int_t)diagnosis_rounds(n),
				 "sentence", sentence_of(mode, in->job, n, busy));
	return r;
}

/* --- begin --- */

static void fill(const struct job_judging_input *in, const struct diagnosis_ask *ask,
		 const json_t *names, struct investigation *inv)
{
	const size_t n = json_array_size(names);

	*inv = (struct investigation){
		.job = in->id,
		.run = ask->run ? ask->run : json_integer_value(json_object_get(in->before, "run")),
		.job_name = xstrdup(in->job),
		.kind = INVESTIGATION_DIAGNOSIS,
		.state = INVESTIGATION_OPEN,
		.reason = xstrdup(ask->reason),
		.sentence = xasprintf("requested by %s: %s", ask->who, ask->reason),
		.hosts = xcalloc(n, sizeof(*inv->hosts)),
		.tests = json_array(),
		.began_us = json_stamp_whole(in->now_us),
	};
	inv->diagnosis = json_pack(
		"{s:s, s:s, s:n, s:n, s:{}, s:[], s:n, s:n, s:n, s:n, s:[{s:o, s:s}]}", "phase",
		diagnosis_record_phases[DIAGNOSIS_RECORD_STOPPING], "who", ask->who, "stop",
		"stopped", "tests", "good", "campaign", "grouped", "unsure", "result", "timeline",
		"at", json_stamp(in->now_us), "text", inv->sentence);
	for (; inv->n_hosts < n; inv->n_hosts++) {
		const char *name = json_string_value(json_array_get(names, inv->n_hosts));
		const struct host *host = hosts_find(in->hosts, name);

		inv->hosts[inv->n_hosts] = (struct investigation_host){
			.name = xstrdup(name),
			.boot = xstrdup(host ? host->boot_id : NULL),
			.class = BLAME_UNCLEAR,
			.state = INVESTIGATION_OPEN,
			.sentence = xstrdup("it is not tested yet"),
		};
	}
}

int diagnosis_plan_begin(struct investigating *k, struct service *s,
			 const struct job_judging_input *in, const struct diagnosis_ask *ask,
			 json_t **ret, struct err *err)
{
	const uint64_t times[2] = { in->now_us, in->now_us - MIN(in->now_us, DIAGNOSIS_LATELY_US) };
	CLEANUP(json_freep) json_t *names = NULL;
	CLEANUP(json_freep) json_t *plan = NULL;
	struct investigation inv = { 0 };
	int r = check_now(s, err);

	if (r == 0)
		r = store_job_hosts(in->store, in->job, times, DIAGNOSIS_HOSTS_MAX + 1, &names, err);
	if (r == 0)
		r = check_job(in, err);
	if (r == 0)
		r = check_hosts(in, names, err);
	if (r == 0)
		r = make_plan(in, names, &plan, err);
	if (r == 0 && !ask->plan &&
	    policy_jobs_mode(&in->policy->jobs, (int)in->policy->mode) == MODE_ENFORCE) {
		fill(in, ask, names, &inv);
		r = investigating_keep(k, s, &inv, NULL, err);
		(void)json_object_set_new(plan, "id", json_integer(inv.id));
		investigation_release(&inv);
	}
	if (r == 0)
		*ret = TAKE(plan);
	return r;
}
