/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/reports.h"

#include <stdlib.h>

#include "controller/actions/action.h"
#include "controller/actions/actor_env.h"
#include "controller/actions/admissions.h"
#include "controller/actions/node_life.h"
#include "controller/actions/retest.h"
#include "lib/base/fnv.h"
#include "lib/base/xalloc.h"
#include "lib/policy/fleet.h"
#include "lib/report/report.h"

enum {
	ARRIVED_MAX = 8192,	/* between two commits; reports beyond that are only stored */
	REPORTERS_MAX = 100000, /* reporting hosts; others are only in the store */
};

/* What reports said about a host. */
struct reporter {
	char *name;
	unsigned replaced; /* machines seen under its name (hosts.h) */
	uint32_t parts;	   /* hash of the serials of its GPUs; 0: unknown */
	size_t n_parts;
	/* From reports before the cluster listed the host; then they move to the fleet. */
	char *sku;
	uint64_t reported_us, deep_us;
	bool unverified;
};

/* Content of a report, until the commit. */
struct arrived {
	char *node, *sku, *order_id;
	char *profile; /* if it answers an order */
	bool deep, unverified;
	uint64_t at_us;
	int outcome; /* enum test_outcome, if it answers an order */
};

static void arrived_release(struct arrived *a)
{
	free(a->node);
	free(a->sku);
	free(a->order_id);
	free(a->profile);
}

static void reporter_release(void *item)
{
	struct reporter *reporter = item;

	free(reporter->sku);
}

void reports_release(struct reports *reports)
{
	size_t i;

	for (i = 0; i < reports->n; i++)
		arrived_release(&reports->arrived[i]);
	free(reports->arrived);
	map_release(&reports->reporters, reporter_release);
	*reports = (struct reports){ 0 };
}

void reports_drop(struct reports *reports, const char *node)
{
	map_drop(&reports->reporters, node, reporter_release);
}

/* Returns NULL if there are too many. */
static struct reporter *reporter_of(struct reports *reports, const char *node)
{
	struct reporter *reporter = map_find(&reports->reporters, node);

	if (reporter || reports->reporters.n >= REPORTERS_MAX)
		return reporter;
	return map_need(&reports->reporters, node, sizeof(*reporter));
}

/* --- parts of a host --- */

static const bool of_serial[256] = {
	['0' ... '9'] = true,
	['A' ... 'Z'] = true,
	['a' ... 'z'] = true,
	['-'] = true,
};

/* Finds the serial number of a GPU in a subject. Returns its length, or 0. */
static size_t serial_in(const char *subject, const char **ret_serial)
{
	const char *gpu = strstr(subject, "gpu:GPU-"), *end;

	if (!gpu)
		return 0;
	*ret_serial = end = gpu + strlen("gpu:");
	while (of_serial[(unsigned char)*end])
		end++;
	return (size_t)(end - *ret_serial);
}

static bool has(const char *const *list, size_t n, const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (strncmp(list[i], text, length) == 0 && !list[i][length])
			return true;
	}
	return false;
}

/* A part that moves takes its record along. */
static void note_parts(const struct actor_env *env, struct reporter *reporter,
		       const struct report *report)
{
	struct fleet_node *node = fleet_find(env->fleet, report->node);
	const char *serials[FLEET_PARTS_MAX], *serial = NULL;
	uint32_t sum = 0;
	size_t n = 0, length, i;

	for (i = 0; i < report->n_samples && n < FLEET_PARTS_MAX; i++) {
		length = serial_in(report->samples[i].subject, &serial);
		if (length == 0 || has(serials, n, serial, length))
			continue;
		serials[n] = xstrndup(serial, length);
		sum += fnv1a(serials[n++], length);
	}
	if (node)
		fleet_set_env(env->fleet, node, report->env);
	/* A run that looked at no GPU, or did not see all, cannot tell which parts are gone. */
	if (node && n > 0 && sum != reporter->parts && n >= reporter->n_parts) {
		fleet_set_parts(env->fleet, node, serials, n);
		reporter->parts = sum;
		reporter->n_parts = n;
	}
	for (i = 0; i < n; i++)
		free((void *)(uintptr_t)serials[i]);
}

/* --- arrivals --- */

static const char *order_of(const struct report *report)
{
	return json_string_value(json_object_get(report->order, "id"));
}

/*
 * Another machine has the host's name. In service, it starts from scratch; if we took it out of
 * service, it has to pass first, as nobody has checked it. Cordons by people stay. This is reported
 * only once, so it becomes durable with that report.
 */
static void note_replaced(const struct actor_env *env, const char *name)
{
	const struct fleet_node *node = fleet_find(env->fleet, name);
	const bool holds = node && life_holds(node->record.life.state);
	const struct fleet_cause cause = {
		.event = holds ? EVENT_REPAIR_DONE : EVENT_REPLACED,
		.who = WHO_AUTOMATIC,
		.why = "it is another machine now",
	};

	if (!node || (holds && (node->record.life.manual || node->record.life.state == LIFE_STICKY)))
		return;
	(void)node_life_event(env, name, &cause, NULL);
}

static void note_machine(const struct actor_env *env, struct reporter *reporter, unsigned replaced)
{
	if (replaced == reporter->replaced)
		return;
	note_replaced(env, reporter->name);
	reporter->parts = 0; /* its parts are read anew */
	reporter->n_parts = 0;
	reporter->replaced = replaced;
}

void reports_add(struct reports *reports, const struct actor_env *env, const struct report *report,
		 const struct reports_arrival *arrival)
{
	const struct action *test = retest_by_order(env, report->node, order_of(report));
	struct reporter *reporter = reporter_of(reports, report->node);

	if (!reporter)
		return;
	note_machine(env, reporter, arrival->replaced);
	if (reports->n == ARRIVED_MAX)
		return;
	reports->arrived = xrealloc(reports->arrived, reports->n + 1, sizeof(*reports->arrived));
	reports->arrived[reports->n++] = (struct arrived){
		.node = xstrdup(report->node),
		.sku = xstrdup(report->sku),
		.order_id = test ? xstrdup(order_of(report)) : NULL,
		.profile = test ? xstrdup(report->profile) : NULL,
		.deep = streq(report->profile, "full") && arrival->fresh,
		.unverified = arrival->unverified,
		.at_us = arrival->at_us,
		.outcome = test ? retest_outcome(env, report, test) : TEST_NOTHING,
	};
	note_parts(env, reporter, report);
}

/* Keep what is known until the cluster lists the host. */
static void keep_early(struct reports *reports, const struct arrived *a)
{
	struct reporter *reporter = map_find(&reports->reporters, a->node);

	if (!reporter)
		return;
	reporter->reported_us = MAX(reporter->reported_us, a->at_us);
	if (a->deep)
		reporter->deep_us = MAX(reporter->deep_us, a->at_us);
	reporter->unverified = a->unverified;
	free(reporter->sku);
	reporter->sku = xstrdup(a->sku);
}

void reports_take_early(struct reports *reports, const struct actor_env *env, const char *name)
{
	struct reporter *reporter = map_find(&reports->reporters, name);
	struct fleet_node *node = fleet_find(env->fleet, name);

	if (!node || !reporter || reporter->reported_us == 0)
		return;
	node->reported_us = MAX(node->reported_us, reporter->reported_us);
	node->deep_us = MAX(node->deep_us, reporter->deep_us);
	node->unverified = reporter->unverified;
	if (reporter->sku)
		fleet_set_sku(env->fleet, node, reporter->sku);
	reporter->reported_us = reporter->deep_us = 0;
	node_life_load_findings(env, name);
}

static void take(struct reports *reports, const struct actor_env *env,
		 struct admissions *admissions, const struct arrived *a)
{
	struct fleet_node *node = fleet_find(env->fleet, a->node);
	struct action *test = a->order_id ? retest_by_order(env, a->node, a->order_id) : NULL;

	if (!node) {
		keep_early(reports, a);
		return;
	}
	node->reported_us = MAX(node->reported_us, a->at_us);
	node->unverified = a->unverified;
	if (a->sku)
		fleet_set_sku(env->fleet, node, a->sku);
	if (a->deep)
		node->deep_us = MAX(node->deep_us, a->at_us);
	/* First: the finding goes with its last window, and what the test was for must be
	 * remembered. */
	if (test)
		retest_ran(env, test, a->profile);
	if (test)
		retest_answered(env, test, a->outcome, a->deep);
	node_life_load_findings(env, a->node);
	admissions_reported(admissions, env, a->node);
}

void reports_take(struct reports *reports, const struct actor_env *env,
		  struct admissions *admissions)
{
	struct arrived *list = TAKE(reports->arrived);
	size_t n = reports->n, i;

	reports->n = 0;
	for (i = 0; i < n; i++) {
		take(reports, env, admissions, &list[i]);
		arrived_release(&list[i]);
	}
	free(list);
}
