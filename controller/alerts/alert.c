/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/alerts/alert.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/blame.h"
#include "lib/policy/policy.h"

const char *const alert_names[] = {
	[ALERT_INCIDENT] = "AssayIncident",
	[ALERT_SHARED] = "AssaySharedIncident",
	[ALERT_CORDON] = "AssayCordon",
	[ALERT_SLOW_JOB] = "AssaySlowJob",
	[ALERT_STOPPED_JOB] = "AssayStoppedJob",
	[ALERT_BREAKER] = "AssayBreaker",
	[ALERT_KINDS] = NULL,
};

static const char *const severities[] = {
	[ALERT_INFO] = "info",
	[ALERT_WARNING] = "warning",
	[ALERT_CRITICAL] = "critical",
};

enum alert_kind alert_kind_of(const json_t *labels)
{
	const char *name = json_string_value(json_object_get(labels, "alertname"));
	int kind = 0;

	while (alert_names[kind] && !streq(alert_names[kind], name))
		kind++;
	return (enum alert_kind)kind;
}

enum alert_severity alert_incident_severity(int action, bool fatal)
{
	return fatal || action >= ACTION_CORDON ? ALERT_CRITICAL : ALERT_WARNING;
}

enum alert_severity alert_cordon_severity(const char *by)
{
	return streq(by, "assay") ? ALERT_WARNING : ALERT_INFO;
}

bool alert_job_is_slow(const char *state, double slowdown, bool told)
{
	static const char *const slow[] = { "slow", "suspected", "owner informed" };
	bool begins = false;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(slow); i++)
		begins |= streq(state, slow[i]);
	return isfinite(slowdown) && slowdown >= BLAME_SLOW && (told || begins);
}

/* --- current alerts --- */

json_t *alert_text(const char *text)
{
	size_t length = 0, next;

	while (text[length] && (next = utf8_length(text + length)) > 0 &&
	       length + next <= ALERT_TEXT_MAX)
		length += next;
	return json_stringn(text, length);
}

static void set_text(json_t *object, const char *key, const char *text)
{
	if (text && *text)
		(void)json_object_set_new(object, key, alert_text(text));
}

char *alert_labels(const struct alert_facts *f)
{
	CLEANUP(json_freep) json_t *labels = json_object();
	const char *slash = f->job ? strchr(f->job, '/') : NULL;
	CLEANUP(freep)
	char *namespace = slash ? xstrndup(f->job, (size_t)(slash - f->job)) : NULL;

	set_text(labels, "alertname", alert_names[f->kind]);
	set_text(labels, "severity", severities[f->severity]);
	set_text(labels, f->kind == ALERT_SHARED ? "scope" : "node", f->node);
	set_text(labels, "check", f->check);
	set_text(labels, "job", f->job);
	set_text(labels, "namespace", namespace);
	if (f->incident)
		(void)json_object_set_new(labels, "incident", json_sprintf("%" PRId64, f->incident));
	return json_dumps(labels, JSON_COMPACT | JSON_SORT_KEYS);
}

static char *name_of(const struct alert_set *set, const struct alert_facts *f)
{
	struct alert_facts critical = *f;
	CLEANUP(freep) char *worst = NULL;

	critical.severity = ALERT_CRITICAL;
	worst = alert_labels(&critical);
	if (f->severity == ALERT_WARNING && set->told && set->told(set->context, worst))
		return TAKE(worst);
	return alert_labels(f);
}

static void alert_release(void *item)
{
	struct alert *a = item;

	json_decref(a->annotations);
	free(a->path);
}

void alert_set_add(struct alert_set *set, const struct alert_facts *f)
{
	CLEANUP(freep) char *name = name_of(set, f);
	struct alert *a;

	if (!map_find(&set->map, name) && set->map.n >= ALERTS_MAX) {
		set->left_out++;
		return;
	}
	map_drop(&set->map, name, alert_release);
	a = map_need(&set->map, name, sizeof(*a));
	a->kind = f->kind;
	a->since_us = f->since_us;
	a->path = xstrdup(f->path);
	a->annotations = json_object();
	set_text(a->annotations, "sentence", f->sentence);
	set_text(a->annotations, "clears", f->clears);
	set_text(a->annotations, "command", f->command);
	set_text(a->annotations, "stale", f->stale);
}

void alert_set_know(struct alert_set *set, enum alert_kind kind)
{
	set->known |= 1U << kind;
}

bool alert_set_knows(const struct alert_set *set, enum alert_kind kind)
{
	/* With alerts left out, it is unknown whether they are over. */
	return set->left_out == 0 && (set->known & 1U << kind) != 0;
}

void alert_set_release(struct alert_set *set)
{
	map_release(&set->map, alert_release);
	*set = (struct alert_set){ .known = 0 };
}

/* --- format --- */

json_t *alert_post_json(const struct alert_post *post)
{
	json_t *labels = json_loads(post->labels, 0, NULL);
	json_t *annotations = json_copy(post->annotations);
	char since[CLOCK_STAMP_SIZE], until[CLOCK_STAMP_SIZE];

	if (!json_is_object(labels)) {
		json_decref(labels);
		json_decref(annotations);
		return NULL;
	}
	set_text(annotations, "link", post->link);
	clock_stamp(post->since_us, since);
	/* An end before the beginning would be refused. */
	clock_stamp(MAX(post->until_us, post->since_us), until);
	return json_pack("{s:o, s:o, s:s, s:s, s:s*}", "labels", labels, "annotations", annotations,
			 "startsAt", since, "endsAt", until, "generatorURL", post->link);
}
