/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/node_life.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/actions/actor_env.h"
#include "controller/actions/node_record.h"
#include "controller/actions/node_views.h"
#include "controller/fleet/findings.h"
#include "controller/store/store.h"
#include "controller/store/store_actions.h"
#include "controller/store/store_placements.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/fleet.h"
#include "lib/policy/fleet_jobs.h"

/* --- records --- */

/* Request a commit if something was written. Passes errors on. */
static int kept(const struct actor_env *env, int r)
{
	if (r != 0)
		env_commit_wanted(env);
	return MIN(r, 0);
}

int node_life_keep(const struct actor_env *env, const struct fleet_node *node, struct err *err)
{
	(void)node_views_need(env->views, node->name); /* dropped if the cluster does not list it */
	return kept(env, node_records_keep(env->records, node, err));
}

void node_life_keep_all(const struct actor_env *env)
{
	struct err err = ERR_INIT;

	if (kept(env, node_records_keep_all(env->records, env->fleet, &err)) < 0)
		log_warning("cannot save the records of hosts: %s", err.msg);
}

void node_life_drop(const struct actor_env *env, const char *node)
{
	(void)kept(env, node_records_drop(env->records, node, NULL));
}

void node_life_note_change(const struct actor_env *env, const char *node,
			   const struct life_change *change)
{
	CLEANUP(json_freep) json_t *evidence = json_pack("s?", change->evidence);
	CLEANUP(freep) char *text = evidence ? json_dumps(evidence, JSON_ENCODE_ANY) : NULL;
	const struct store_transition row = {
		.node = node,
		.at_us = change->at_us,
		.before = change->from,
		.after = change->to,
		.event = life_event_names[change->event],
		.who = change->who,
		.why = change->why ? change->why : "",
		.evidence = text,
		.undo = change->undo,
	};
	struct err err = ERR_INIT;

	if (store_add_transition(env->store, &row, &err) < 0)
		log_warning("cannot record a transition: %s", err.msg);
	env_commit_wanted(env);
}

static bool is_cordon(const struct fleet_cause *cause)
{
	return cause->event == EVENT_CORDONED || cause->event == EVENT_CORDONED_STICKY;
}

int node_life_event(const struct actor_env *env, const char *name, const struct fleet_cause *cause,
		    struct err *err)
{
	struct node_view *host = node_views_find(env->views, name);
	struct fleet_node *node = fleet_find(env->fleet, name);
	CLEANUP(freep)
	char *serial = cause->serial ? xstrdup(cause->serial) : fleet_host_serial(name);
	struct life_change change;
	int r;

	if (!node)
		return err_set(err, ENOENT, "the cluster has no node '%.80s'", name);
	r = fleet_event(env->fleet, node, cause, env_real_us(env), &change, err);
	if (r < 0)
		return r;
	env_news(env);
	node_life_note_change(env, name, &change);
	if (is_cordon(cause))
		r = node_records_keep_part(env->records, env->fleet, serial, err);
	if (host) {
		node_views_refresh(env, host);
		node_views_publish(env, host);
	}
	return r < 0 ? r : node_life_keep(env, node, err);
}

/* --- findings --- */

enum { WINDOWS_OF_NODE = 256 }; /* FINDINGS_MAX in findings.h */

/* Returns the id of the open incident of a check, or 0. */
static int64_t incident_of(const json_t *incidents, const char *check)
{
	size_t i;

	for (i = 0; i < json_array_size(incidents); i++) {
		const json_t *one = json_array_get(incidents, i);

		if (streq(json_string_value(json_object_get(one, "check")), check))
			return strtoll(json_string_value(json_object_get(one, "id")), NULL, 10);
	}
	return 0;
}

/* Subjects of samples name a GPU by its serial number. */
static const char *serial_of(const char *subject)
{
	const char *gpu = strstr(subject, "gpu:GPU-");

	return gpu ? gpu + strlen("gpu:") : NULL;
}

static void note_row(struct fleet *fleet, struct fleet_node *node, const struct store_window *row,
		     const json_t *incidents)
{
	struct finding_news news = findings_news(row);

	news.serial = serial_of(row->subject);
	news.incident = incident_of(incidents, row->check);
	(void)fleet_note(fleet, node, &news);
}

static bool has_row(const struct store_window *rows, int n, const struct finding *f)
{
	int i;

	for (i = 0; i < n; i++) {
		if (streq(rows[i].check, f->check) && streq(rows[i].subject, f->subject))
			return true;
	}
	return false;
}

static void drop_without_row(struct fleet *fleet, struct fleet_node *node,
			     const struct store_window *rows, int n)
{
	struct finding *f, *next;

	for (f = node->findings; f; f = next) {
		next = f->next;
		if (!has_row(rows, n, f))
			fleet_clear(fleet, node, f);
	}
}

struct ran {
	struct fleet *fleet;
	struct fleet_node *node;
};

static void note_ran(void *context, const struct store_placement *placement)
{
	const uint64_t span_us[] = { placement->from_us, placement->until_us };
	const struct ran *ran = context;

	fleet_jobs_ran(ran->fleet, ran->node, placement->job, span_us);
}

/* The jobs the host reports having run recently: a low value may be their doing. */
static void load_ran(const struct actor_env *env, struct fleet_node *node)
{
	const uint64_t now_us = env_real_us(env);
	const uint64_t which[] = { now_us - MIN(now_us, FLEET_RAN_LATELY_US), FLEET_RAN_MAX };
	struct ran ran = { env->fleet, node };

	(void)store_node_jobs(env->store, node->name, which, note_ran, &ran, NULL);
}

void node_life_load_findings(const struct actor_env *env, const char *name)
{
	struct fleet_node *node = fleet_find(env->fleet, name);
	CLEANUP(json_freep) json_t *incidents = NULL;
	struct store_window *rows = NULL;
	int n, i;

	n = node ? store_windows(env->store, name, &rows, WINDOWS_OF_NODE, NULL) : -1;
	if (n < 0)
		return;
	if (n > 0)
		(void)store_open_incidents(env->store, name, &incidents, NULL);
	/* A host out of service may be due for a test, or for its release. */
	if (n > 0 || node->findings || node->out)
		env_news(env);
	drop_without_row(env->fleet, node, rows, n);
	for (i = 0; i < n; i++) {
		note_row(env->fleet, node, &rows[i], incidents);
		store_window_release(&rows[i]);
	}
	free(rows);
	load_ran(env, node);
}

char *node_life_signature(const struct finding *finding)
{
	return finding->code ? xasprintf("%s %s", finding->check, finding->code)
			     : xstrdup(finding->check);
}

/* --- load --- */

static void need_views(const struct actor_env *env)
{
	const char *node;
	size_t i;

	for (i = 0; (node = node_records_at(env->records, i)); i++)
		(void)node_views_need(env->views, node);
}

int node_life_load(const struct actor_env *env, struct err *err)
{
	int r = node_records_load_hosts(env->records, env->fleet, env_real_us(env), err);
	size_t i;

	if (r < 0)
		return r;
	/* Statements cannot be nested: read the findings after the list of hosts. */
	for (i = 0; i < env->fleet->n; i++)
		node_life_load_findings(env, env->fleet->nodes[i]->name);
	r = node_records_load(env->records, env->fleet, env_real_us(env), err);
	if (r == 0)
		need_views(env);
	return r;
}
