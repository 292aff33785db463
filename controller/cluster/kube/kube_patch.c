/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_patch.h"

#include <stdlib.h>
#include <time.h>

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_node.h"
#include "lib/base/duration.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

void kube_time(uint64_t real_us, char ret_text[static KUBE_TIME_SIZE])
{
	time_t seconds = (time_t)(real_us / USEC_PER_SEC);
	struct tm tm = { 0 };

	(void)gmtime_r(&seconds, &tm);
	(void)strftime(ret_text, KUBE_TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

char *kube_clip(const char *text, size_t max)
{
	char *clean = utf8_clean(text);
	size_t n = 0, step;

	while (clean[n] && (step = utf8_length(clean + n)) > 0 && n + step <= max)
		n += step;
	clean[n] = '\0';
	return clean;
}

static const json_t *member(const json_t *value, const char *outer, const char *inner)
{
	return json_object_get(json_object_get(value, outer), inner);
}

/* --- pieces of a merge patch --- */

static json_t *patch_new(const struct kube_subject *s)
{
	return json_pack("{s:{s:s}}", "metadata", "resourceVersion", s->node->version);
}

/* The object in the patch, created if missing. Borrowed. */
static json_t *within(json_t *patch, const char *key)
{
	if (!json_object_get(patch, key))
		(void)json_object_set_new(patch, key, json_object());
	return json_object_get(patch, key);
}

static void set_annotation(json_t *patch, const char *key, json_t *value)
{
	json_t *annotations = within(within(patch, "metadata"), "annotations");

	(void)json_object_set_new(annotations, key, value);
}

static void set_spec(json_t *patch, const char *key, json_t *value)
{
	(void)json_object_set_new(within(patch, "spec"), key, value);
}

static bool same_text(const json_t *value, const char *key, const char *text)
{
	return streq(json_string_value(json_object_get(value, key)), text);
}

static bool is_taint(const json_t *one, const struct kube_taint *taint)
{
	return same_text(one, "key", taint->key) && same_text(one, "effect", taint->effect);
}

static bool has_taint(const json_t *taints, const struct kube_taint *taint)
{
	size_t i;

	for (i = 0; i < json_array_size(taints); i++) {
		if (is_taint(json_array_get(taints, i), taint))
			return true;
	}
	return false;
}

/* All taints but this one. New reference. */
static json_t *taints_without(const json_t *taints, const struct kube_taint *taint)
{
	json_t *rest = json_array();
	size_t i;

	for (i = 0; i < json_array_size(taints); i++) {
		if (!is_taint(json_array_get(taints, i), taint))
			(void)json_array_append(rest, json_array_get(taints, i));
	}
	return rest;
}

static void add_taint(json_t *taints, const struct kube_taint *taint)
{
	(void)json_array_append_new(taints,
				    json_pack("{s:s, s:s*, s:s}", "key", taint->key, "value",
					      taint->value && taint->value[0] ? taint->value : NULL,
					      "effect", taint->effect));
}

/* The list is replaced as a whole; an empty one becomes null. */
static void set_taints(json_t *patch, json_t *taints)
{
	if (json_array_size(taints) == 0) {
		json_decref(taints);
		taints = json_null();
	}
	set_spec(patch, "taints", taints);
}

/* --- ownership of the cordon --- */

/* Is this manager an owner of spec.unschedulable? */
static bool owns_cordon(const json_t *writer)
{
	return member(json_object_get(writer, "fieldsV1"), "f:spec", "f:unschedulable") != NULL;
}

bool kube_cordon_is_ours(const struct kube_subject *s)
{
	const json_t *writers = member(s->raw, "metadata", "managedFields");
	bool others = false, ours = false;
	size_t i;

	if (!s->node->unschedulable || !kube_node_lifts(s->node))
		return false;
	for (i = 0; i < json_array_size(writers); i++) {
		const json_t *writer = json_array_get(writers, i);

		if (!owns_cordon(writer))
			continue;
		if (same_text(writer, "manager", KUBE_FIELD_MANAGER))
			ours = true;
		else
			others = true;
	}
	/* Without managed fields our mark is the only evidence. */
	return ours || !others;
}

static struct kube_plan refuse(const char *words)
{
	return (struct kube_plan){ .result = CLUSTER_NOT_OURS, .words = words };
}

static struct kube_plan done(json_t *patch)
{
	return (struct kube_plan){ .result = CLUSTER_DONE, .words = "", .patch = patch };
}

/* --- changes --- */

static void set_override(json_t *patch, const struct cluster_names *names, uint64_t until_us)
{
	CLEANUP(freep) char *text = until_us ? kube_override_text(until_us) : NULL;

	set_annotation(patch, names->override, text ? json_string(text) : json_null());
}

/* Times are written in milliseconds. */
static bool same_stamp(uint64_t a_us, uint64_t b_us)
{
	return a_us / USEC_PER_MSEC == b_us / USEC_PER_MSEC;
}

struct kube_plan kube_plan_cordon(const struct kube_subject *s, const struct cluster_mark *mark)
{
	const json_t *taints = member(s->raw, "spec", "taints");
	const json_t *annotations = member(s->raw, "metadata", "annotations");
	struct cluster_mark own = *mark;
	CLEANUP(freep) char *text = NULL;
	json_t *patch, *list;

	if (s->node->mark)
		return streq(s->node->mark->action, mark->action)
			       ? done(NULL)
			       : refuse("another action has already cordoned it");
	if (json_object_get(annotations, s->names->cordon))
		return refuse(s->names->not_our_mark);
	own.pre = s->node->unschedulable;
	text = kube_mark_text(&own);
	patch = patch_new(s);
	set_annotation(patch, s->names->cordon, json_string(text));
	if (!own.pre)
		set_spec(patch, "unschedulable", json_true());
	if (s->taint->key && !has_taint(taints, s->taint)) {
		list = taints_without(taints, s->taint);
		add_taint(list, s->taint);
		set_taints(patch, list);
	}
	return done(patch);
}

struct kube_plan kube_plan_uncordon(const struct kube_subject *s, uint64_t override_us,
				    bool keep_cordon)
{
	const json_t *taints = member(s->raw, "spec", "taints");
	const bool tainted = s->taint->key && has_taint(taints, s->taint);
	const bool overrides = override_us && !same_stamp(override_us, s->node->override_us);
	const json_t *annotations = member(s->raw, "metadata", "annotations");
	json_t *patch;

	if (!s->node->mark && s->node->unschedulable)
		return refuse("someone else cordoned it");
	if (!s->node->mark && !tainted && !overrides)
		return done(NULL);
	patch = patch_new(s);
	if (s->node->mark)
		set_annotation(patch, s->names->cordon, json_null());
	/* The request to leave ends with the cordon. */
	if (s->node->mark && json_object_get(annotations, s->names->drain))
		set_annotation(patch, s->names->drain, json_null());
	if (overrides)
		set_override(patch, s->names, override_us);
	if (kube_cordon_is_ours(s) && !keep_cordon)
		set_spec(patch, "unschedulable", json_null());
	if (tainted)
		set_taints(patch, taints_without(taints, s->taint));
	return done(patch);
}

struct kube_plan kube_plan_override(const struct kube_subject *s, uint64_t override_us)
{
	const json_t *annotations = member(s->raw, "metadata", "annotations");
	json_t *patch;

	if (override_us ? same_stamp(override_us, s->node->override_us)
			: !json_object_get(annotations, s->names->override))
		return done(NULL);
	patch = patch_new(s);
	set_override(patch, s->names, override_us);
	return done(patch);
}

struct kube_plan kube_plan_hold(const struct kube_subject *s, uint64_t until_us, const char *by)
{
	const json_t *taints = member(s->raw, "spec", "taints");
	const struct kube_taint ours = { s->names->testing, NULL, "NoSchedule" };
	CLEANUP(json_freep) json_t *wanted = kube_node_taints(s->raw, s->names, until_us, by);
	json_t *patch;

	if (s->node->hold_us && !streq(s->node->hold_by, by))
		return refuse("it is held for another test or action");
	if (until_us && !s->node->hold_us && has_taint(taints, &ours))
		return refuse(s->names->not_our_hold);
	if (until_us ? json_equal(taints, wanted) : !s->node->hold_us)
		return done(NULL);
	patch = patch_new(s);
	set_taints(patch, TAKE(wanted));
	return done(patch);
}

struct kube_plan kube_plan_verified(const struct kube_subject *s)
{
	const json_t *taints = member(s->raw, "spec", "taints");
	json_t *patch, *rest;
	size_t i;

	if (!s->node->unverified)
		return done(NULL);
	rest = json_array();
	for (i = 0; i < json_array_size(taints); i++) {
		if (!same_text(json_array_get(taints, i), "key", s->names->unverified))
			(void)json_array_append(rest, json_array_get(taints, i));
	}
	patch = patch_new(s);
	set_taints(patch, rest);
	return done(patch);
}

/* --- the condition --- */

const char *kube_status_text(int healthy)
{
	static const char *const texts[] = { "Unknown", "False", "True" };

	return texts[healthy + 1];
}

const json_t *kube_condition_of(const json_t *raw, const struct cluster_names *names)
{
	const json_t *list = member(raw, "status", "conditions");
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		if (same_text(json_array_get(list, i), "type", names->healthy))
			return json_array_get(list, i);
	}
	return NULL;
}

json_t *kube_patch_condition(const struct cluster_names *names,
			     const struct cluster_condition *condition, uint64_t now_us,
			     uint64_t since_us)
{
	CLEANUP(freep) char *message = kube_clip(condition->message, KUBE_MESSAGE_MAX);
	char now[KUBE_TIME_SIZE], since[KUBE_TIME_SIZE];

	kube_time(now_us, now);
	kube_time(since_us, since);
	return json_pack("{s:{s:[{s:s, s:s, s:s, s:s, s:s, s:s}]}}", "status", "conditions", "type",
			 names->healthy, "status", kube_status_text(condition->healthy), "reason",
			 condition->reason, "message", message, "lastHeartbeatTime", now,
			 "lastTransitionTime", since);
}
