/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_drain.h"

#include <stdlib.h>

#include "controller/cluster/kube/kube_evict.h"
#include "controller/cluster/kube/kube_jobs.h"
#include "controller/cluster/kube/kube_path.h"
#include "controller/cluster/kube/kube_round.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/fleet.h"

/* --- the annotation --- */

static void on_noted(void *context, const struct kube_answer *answer)
{
	struct kube_round *round = context;

	round->request = NULL;
	/* Somebody changed the node in between: read it again. */
	kube_round_fail(round, answer->result == CLUSTER_CONFLICT ? CLUSTER_AGAIN : answer->result,
			answer->words, answer->retry_us);
}

static void patch_note(struct kube_round *round, const char *path, const char *version)
{
	struct kube *kube = round->drains->options.kube;
	CLEANUP(json_freep)
	json_t *body = json_pack("{s:{s:s, s:{s:s}}}", "metadata", "resourceVersion", version,
				 "annotations", kube_names(kube)->drain, round->note);
	struct err err = ERR_INIT;

	if (kube_send(kube,
		      &(struct kube_call){ .method = "PATCH",
					   .path = path,
					   .content = KUBE_MERGE,
					   .body = body,
					   .dry_run = round->dry_run,
					   .timeout_us = KUBE_WRITE_TIMEOUT_S * USEC_PER_SEC,
					   .done = on_noted,
					   .context = round },
		      &round->request, &err) < 0)
		kube_round_fail(round, CLUSTER_AGAIN, err.msg, 0);
}

static void on_node(void *context, const struct kube_answer *answer)
{
	struct kube_round *round = context;
	const json_t *metadata = json_object_get(answer->body, "metadata");
	const json_t *notes = json_object_get(metadata, "annotations");
	const char *version = json_string_value(json_object_get(metadata, "resourceVersion"));
	const struct cluster_names *names = kube_names(round->drains->options.kube);
	char path[KUBE_PATH_MAX];

	round->request = NULL;
	if (answer->result != CLUSTER_DONE || !version) {
		kube_round_fail(round,
				answer->result == CLUSTER_DONE ? CLUSTER_AGAIN : answer->result,
				answer->words, answer->retry_us);
		return;
	}
	if (!json_object_get(notes, names->cordon)) {
		kube_round_fail(round, CLUSTER_NOT_OURS, "it is not cordoned by Assay", 0);
		return;
	}
	if (streq(json_string_value(json_object_get(notes, names->drain)), round->note))
		kube_round_fail(round, CLUSTER_DONE, "", 0);
	else if (kube_path(path, NULL, "/api/v1/nodes/%s", round->node) == 0)
		patch_note(round, path, version);
}

static void look_up_node(struct kube_round *round)
{
	char path[KUBE_PATH_MAX];
	struct err err = ERR_INIT;

	if (kube_path(path, &err, "/api/v1/nodes/%s", round->node) < 0 ||
	    kube_send(round->drains->options.kube,
		      &(struct kube_call){
			      .method = "GET", .path = path, .done = on_node, .context = round },
		      &round->request, &err) < 0)
		kube_round_fail(round, CLUSTER_AGAIN, err.msg, 0);
}

/* {"v", "reason", "evict_at"}; "evict_at" is null if nothing will be evicted. */
static char *note_of(const struct cluster_drain *drain)
{
	char stamp[CLOCK_STAMP_SIZE] = "";
	CLEANUP(json_freep) json_t *note = NULL;

	if (drain->evict_us)
		clock_stamp(drain->evict_us, stamp);
	note = json_pack("{s:i, s:s, s:s?}", "v", 1, "reason", drain->reason ? drain->reason : "",
			 "evict_at", stamp[0] ? stamp : NULL);
	return note ? json_line(note) : xstrdup("{\"v\":1}");
}

/* --- the version of Eviction --- */

static char *find_version(const json_t *body)
{
	const json_t *resources = json_object_get(body, "resources");
	size_t i;

	for (i = 0; i < json_array_size(resources); i++) {
		const json_t *one = json_array_get(resources, i);
		const char *group = json_string_value(json_object_get(one, "group"));
		const char *version = json_string_value(json_object_get(one, "version"));

		if (streq(json_string_value(json_object_get(one, "name")), "pods/eviction") &&
		    group && version)
			return xasprintf("%s/%s", group, version);
	}
	return NULL;
}

static void on_listed(void *context, struct kube_pods_listed *listed)
{
	struct kube_round *round = context;

	round->list = NULL;
	if (listed->result != CLUSTER_DONE) {
		kube_round_fail(round, listed->result, listed->words, listed->retry_us);
		return;
	}
	round->pods = *listed->pods;
	*listed->pods = (struct kube_pods){ 0 };
	kube_evict(round);
}

static void list_pods(struct kube_round *round, kube_pods_done *done)
{
	struct err err = ERR_INIT;

	if (kube_pod_list_begin(round->drains->options.kube, round->node, done, round, &round->list,
				&err) < 0)
		kube_round_fail(round, CLUSTER_AGAIN, err.msg, 0);
}

static void on_discovered(void *context, const struct kube_answer *answer)
{
	struct kube_round *round = context;

	round->request = NULL;
	if (answer->result != CLUSTER_DONE) {
		kube_round_fail(round,
				answer->result == CLUSTER_REFUSED ? CLUSTER_REFUSED : CLUSTER_AGAIN,
				answer->words, answer->retry_us);
		return;
	}
	free(round->drains->version);
	round->drains->version = find_version(answer->body);
	if (!round->drains->version)
		kube_round_fail(round, CLUSTER_REFUSED,
				"this API server does not support evictions (pods/eviction)", 0);
	else
		list_pods(round, on_listed);
}

static void discover(struct kube_round *round)
{
	struct err err = ERR_INIT;

	if (kube_send(round->drains->options.kube,
		      &(struct kube_call){ .method = "GET",
					   .path = "/api/v1",
					   .done = on_discovered,
					   .context = round },
		      &round->request, &err) < 0)
		kube_round_fail(round, CLUSTER_AGAIN, err.msg, 0);
}

void kube_drain(struct kube_drains *drains, const struct cluster_change *change,
		const struct cluster_call *call)
{
	static const struct cluster_drain plain = { 0 };
	const struct cluster_drain *drain = change->drain ? change->drain : &plain;
	const char *stopped = drains->options.stopped(drains->options.context);
	struct kube_round *round;

	kube_evict_forget(drains, false);
	if (stopped) {
		cluster_answer(call, &(struct cluster_answer){ .result = CLUSTER_AGAIN,
							       .words = stopped,
							       .retry_us = KUBE_NOT_NOW_US });
		return;
	}
	round = kube_round_new(drains, change->node, false, call);
	if (!round)
		return;
	round->dry_run = change->dry_run;
	round->leave = (struct kube_leave){ .bare = drain->bare_pods,
					    .scratch = drain->empty_dir,
					    .own = kube_namespace(drains->options.kube) };
	if (drain->only_ask) {
		round->note = note_of(drain);
		look_up_node(round);
	} else if (drains->version) {
		list_pods(round, on_listed);
	} else {
		discover(round);
	}
}

/* --- jobs --- */

static bool has_text(char *const *texts, size_t n, const char *text)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (streq(texts[i], text))
			return true;
	}
	return false;
}

static void on_jobs_listed(void *context, struct kube_pods_listed *listed)
{
	struct kube_round *round = context;
	char *texts[FLEET_JOBS_MAX];
	size_t n = 0, i;

	round->list = NULL;
	for (i = 0; i < listed->pods->n && n < ARRAY_SIZE(texts); i++) {
		const struct kube_pod *pod = &listed->pods->items[i];
		CLEANUP(kube_job_release) struct kube_job job = { 0 };
		CLEANUP(freep) char *text = NULL;

		kube_job_of(round->drains->options.jobs, pod, &job);
		text = kube_job_text(&job);
		if (kube_job_counts(pod, &job, &round->leave) && !has_text(texts, n, text))
			texts[n++] = TAKE(text);
	}
	kube_round_end(round, &(struct cluster_answer){ .result = listed->result,
							.words = listed->words,
							.retry_us = listed->retry_us,
							.jobs = (const char *const *)texts,
							.n_jobs = n });
	while (n > 0)
		free(texts[--n]);
}

void kube_drain_jobs(struct kube_drains *drains, const char *node, const struct cluster_call *call)
{
	struct kube_round *round = kube_round_new(drains, node, true, call);

	if (!round)
		return;
	round->leave.own = kube_namespace(drains->options.kube);
	list_pods(round, on_jobs_listed);
}

/* --- life cycle --- */

struct kube_drains *kube_drains_new(const struct kube_drains_options *options)
{
	struct kube_drains *drains = xcalloc(1, sizeof(*drains));

	drains->options = *options;
	return drains;
}

void kube_drains_free(struct kube_drains *drains)
{
	if (!drains)
		return;
	while (drains->rounds)
		kube_round_fail(drains->rounds, CLUSTER_AGAIN, "the controller is stopping", 0);
	kube_evict_forget(drains, true);
	free(drains->version);
	free(drains);
}
