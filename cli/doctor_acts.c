/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_acts.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/doctor_reach.h"
#include "cli/doctor_visit.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

enum { ACTIONS_LOOKED_AT = 100 }; /* the newest ones */

/* --- mode and policy --- */

static void say_policy(struct doctor_visit *d)
{
	CLEANUP(json_freep) json_t *policy = doctor_reach_get(d, "mode", "/v1/policy");
	const char *mode = raw_at(policy, "mode"), *settings = raw_at(policy, "mode_of_option");
	const char *rules = raw_at(policy, "mode_of_policy");

	if (*raw_at(d->who, "version"))
		checklist_say(&d->list,
			      streq(raw_at(d->who, "version"), PACKAGE_VERSION) ? CHECK_OK
										: CHECK_WARN,
			      "version", "controller %s, assayctl %s%s", raw_at(d->who, "version"),
			      PACKAGE_VERSION,
			      streq(raw_at(d->who, "version"), PACKAGE_VERSION)
				      ? ""
				      : ": update the older one");
	if (!policy)
		return;
	if (streq(mode, "enforce"))
		checklist_say(&d->list, CHECK_OK, "mode", "enforce, policy %s",
			      raw_at(policy, "version"));
	else if (streq(settings, rules))
		checklist_say(
			&d->list, CHECK_WARN, "mode",
			"%s, policy %s: no host is touched: set mode in the policy and in "
			"controller.yaml when what it would do looks right (assayctl actions)",
			mode, raw_at(policy, "version"));
	else
		checklist_say(
			&d->list, CHECK_WARN, "mode",
			"%s, policy %s: no host is touched: the policy says %s, controller.yaml or "
			"--mode says %s, and the more cautious counts: set mode in the %s",
			mode, raw_at(policy, "version"), rules, settings,
			streq(mode, rules) ? "policy" : "settings");
}

/* --- what prevents it from acting --- */

static bool say_blocked(struct doctor_visit *d, const json_t *breaker)
{
	const char *stale = raw_at(breaker, "stale"), *stopped = raw_at(breaker, "stopped");
	const bool open = json_is_true(json_object_get(breaker, "open"));
	const bool fenced = json_is_true(json_object_get(breaker, "fenced"));

	if (open)
		checklist_say(
			&d->list, CHECK_BAD, "breaker",
			"open since %s: %s: once that is over, assayctl breaker reset --reason ...",
			raw_at(breaker, "opened"), raw_at(breaker, "reason"));
	if (fenced)
		checklist_say(&d->list, CHECK_BAD, "acting",
			      "fenced off: another controller has taken over: ask that one, or "
			      "restart this one");
	if (*stopped)
		checklist_say(&d->list, CHECK_BAD, "acting",
			      "stopped: %s: take the annotation off the Lease (docs/acting.md)",
			      stopped);
	if (*stale && !fenced)
		checklist_say(&d->list, CHECK_BAD, "acting",
			      "the state of the cluster is uncertain: %s: check the API server, "
			      "and the controller's log",
			      stale);
	return open || fenced || *stopped || *stale;
}

static bool say_budgets(struct doctor_visit *d, const json_t *breaker)
{
	const json_t *budgets = json_object_get(breaker, "budget"), *one;
	bool full = false;
	size_t i;

	json_array_foreach(budgets, i, one)
	{
		if (!(number_at(one, "used") >= number_at(one, "limit")))
			continue;
		full = true;
		checklist_say(
			&d->list, CHECK_WARN, "budget",
			"%s: %.0f of %.0f used, so it cordons nothing more: repair and uncordon a "
			"host (assayctl nodes --cordoned), wait, or raise it in the policy",
			raw_at(one, "rule"), number_at(one, "used"), number_at(one, "limit"));
	}
	return full;
}

static void say_breaker(struct doctor_visit *d)
{
	CLEANUP(json_freep) json_t *breaker = doctor_reach_get(d, "acting", "/v1/breaker");
	bool blocked, full;

	if (!breaker)
		return;
	blocked = say_blocked(d, breaker);
	full = say_budgets(d, breaker);
	if (!blocked && !full)
		checklist_say(&d->list, CHECK_OK, "acting",
			      streq(raw_at(breaker, "mode"), "enforce")
				      ? "nothing keeps it from acting"
				      : "breaker closed, budgets free: only the mode keeps it from "
					"acting");
}

/* --- hosts --- */

/* A count, and the first ones. */
struct some {
	unsigned n;
	char *first;
};

static void count(struct some *some, const json_t *node)
{
	if (some->n++ == 0)
		some->first = text_at(node, "node");
}

static void say_some(struct doctor_visit *d, const struct some *some, const char *words)
{
	if (some->n > 0)
		checklist_say(&d->list, CHECK_WARN, "hosts", "%u %s, first %s: %s", some->n,
			      some->n == 1 ? "host" : "hosts", some->first, words);
}

struct hosts {
	unsigned n;
	struct some silent, unverified, outside;
};

static void look(struct hosts *h, const json_t *node)
{
	h->n++;
	if (json_is_true(json_object_get(node, "stale")))
		count(&h->silent, node);
	if (json_is_true(json_object_get(node, "unverified")))
		count(&h->unverified, node);
	if (json_is_false(json_object_get(node, "in_cluster")))
		count(&h->outside, node);
}

/* The complete list, a new reference; NULL if it cannot be read, which is reported. */
static json_t *list(struct doctor_visit *d, const char *path)
{
	CLEANUP(link_freep) struct link *link = NULL;
	struct err err = ERR_INIT;
	json_t *items = NULL;
	int r = link_new(&d->request->settings, &link, &err);

	if (r == 0) {
		link_begin(link);
		r = link_list(link, path, &items, &err);
	}
	if (r < 0)
		checklist_say(&d->list, CHECK_WARN, "hosts", "%s", err.msg);
	return items;
}

static void say_overdue(struct doctor_visit *d)
{
	CLEANUP(json_freep) json_t *items = list(d, "/v1/coverage");
	struct some overdue = { (unsigned)json_array_size(items),
				text_at(json_array_get(items, 0), "node") };

	say_some(d, &overdue,
		 "without a full run for longer than coverage.max_age: assayctl coverage");
	free(overdue.first);
}

static void say_hosts(struct doctor_visit *d)
{
	CLEANUP(json_freep) json_t *items = list(d, "/v1/nodes");
	struct hosts h = { 0 };
	const json_t *node;
	size_t i;

	if (!items)
		return;
	json_array_foreach(items, i, node) look(&h, node);
	if (h.n == 0)
		checklist_say(
			&d->list, CHECK_WARN, "hosts",
			"none has reported: run assay doctor on one (assayctl join-command lets "
			"new ones in)");
	else if (h.silent.n == 0)
		checklist_say(&d->list, CHECK_OK, "hosts", "%u reporting", h.n);
	say_some(d, &h.silent, "stopped reporting: run assay doctor there");
	say_some(d, &h.unverified,
		 "joined and unverified: run assay run --profile quick --report there");
	say_some(d, &h.outside,
		 "the cluster has no node of that name, so it is never cordoned: set node in "
		 "assayd.yaml to the node's name");
	say_overdue(d);
	free(h.silent.first);
	free(h.unverified.first);
	free(h.outside.first);
}

/* --- the cluster --- */

/*
 * A recent refusal of the API server, from an action that failed because of it; borrowed, or
 * NULL.
 */
static const char *refused_of(const json_t *actions)
{
	const json_t *action;
	size_t i;

	json_array_foreach(actions, i, action)
	{
		const char *result = raw_at(action, "result");

		if (streq(raw_at(action, "state"), "done") &&
		    streq(raw_at(action, "action"), "cordon"))
			return NULL;	     /* it has succeeded since */
		if (strstr(result, ": 403")) /* "PATCH /api/v1/nodes/gpu-1: 403: ..." */
			return result;
	}
	return NULL;
}

static void say_cluster(struct doctor_visit *d)
{
	const char *cluster = raw_at(d->who, "cluster");
	CLEANUP(json_freep) json_t *page = NULL;
	CLEANUP(freep) char *path = NULL;
	const json_t *actions;
	const char *refused;

	if (streq(cluster, "embedded"))
		checklist_say(&d->list, CHECK_OK, "cluster",
			      "embedded: no scheduler learns of a cordon except through `assay "
			      "admit` and the Slurm kit (docs/slurm.md)");
	if (!streq(cluster, "kubernetes"))
		return;
	path = xasprintf("/v1/actions?limit=%d", ACTIONS_LOOKED_AT);
	page = doctor_reach_get(d, "cluster", path);
	actions = json_object_get(page, "items");
	refused = refused_of(actions);
	if (refused)
		checklist_say(&d->list, CHECK_BAD, "cluster",
			      "the API server refuses it: %s: give it the ClusterRole of "
			      "deploy/kubernetes",
			      refused);
	else if (page)
		checklist_say(
			&d->list, CHECK_OK, "cluster",
			"kubernetes; none of the last %zu actions was refused by the API server",
			json_array_size(actions));
}

void doctor_acts(struct doctor_visit *d)
{
	say_policy(d);
	say_breaker(d);
	say_hosts(d);
	say_cluster(d);
}
