/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alerts as in Alertmanager: labels, which identify them, and annotations, which describe them to
 * people. Pure.
 *
 * Alertmanager identifies an alert by its labels: a different value of a label is a different
 * alert, which notifies anew while the old one keeps firing. So nothing that changes while the
 * problem stays the same is a label. That it is unknown whether it still exists (`stale`) is an
 * annotation: as a label each restart would start all alerts anew, and end the old ones without
 * anybody having judged them. The severity of a problem rises but never falls: the worse alert
 * replaces the other.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/base/map.h"

/* Validity of an alert without repetition: the death of a controller is no all-clear. */
#define ALERT_STAYS_US USEC_PER_DAY

enum {
	ALERTS_MAX = 2048,     /* sent at a time; the oldest first */
	ALERT_TEXT_MAX = 1024, /* bytes of an annotation, cut beyond */
};

enum alert_kind {
	ALERT_INCIDENT, /* of a host */
	ALERT_SHARED,	/* shared by hosts of a SKU, a rack, a setting or a job */
	ALERT_CORDON,
	ALERT_SLOW_JOB,
	ALERT_STOPPED_JOB,
	ALERT_BREAKER,
	ALERT_KINDS,
};

/* The label alertname of each kind. */
extern const char *const alert_names[];

/* The kind of alert with these labels from alert_set_add(); ALERT_KINDS: none. */
enum alert_kind alert_kind_of(const json_t *labels);

enum alert_severity { ALERT_INFO, ALERT_WARNING, ALERT_CRITICAL };

/* For an incident, by its policy_action and whether it is fatal. */
enum alert_severity alert_incident_severity(int action, bool fatal);

/* Lower for a cordon by hand, which is known to whoever did it. */
enum alert_severity alert_cordon_severity(const char *by);

/*
 * Should the job be reported as slow, by `state` and slowdown as shown? SMon (Lin et al.,
 * "Understanding Stragglers in Large Model Training Using What-if Analysis", 2025) alerts from 1.1
 * on. A reported job stays so until a window shows less.
 */
bool alert_job_is_slow(const char *state, double slowdown, bool told);

/* A current problem. All borrowed; NULL and 0: none. */
struct alert_facts {
	enum alert_kind kind;
	enum alert_severity severity;
	const char *node; /* a host; for ALERT_SHARED what the hosts have in common */
	const char *check;
	const char *job;
	int64_t incident;
	uint64_t since_us;			 /* real time; 0: unknown */
	const char *sentence, *clears, *command; /* what is wrong, what ends it, what shows more */
	const char *path;			 /* relative to the controller's address */
	const char *stale;			 /* why it may be out of date */
};

/* Its labels, JSON with sorted keys; new memory. The namespace of a job "research/llm-7" is one of
 * them. */
char *alert_labels(const struct alert_facts *facts);

/* A stored alert. */
struct alert {
	char *name; /* its labels, JSON with sorted keys */
	enum alert_kind kind;
	uint64_t since_us;
	json_t *annotations; /* without the link */
	char *path;
};

/* All current alerts. Zero it before first use. */
struct alert_set {
	struct map map;	 /* struct alert */
	unsigned known;	 /* bit per alert_kind: all of them are here, missing ones are over */
	size_t left_out; /* number beyond ALERTS_MAX */
	/* Is the alert with these labels firing already? NULL: none is. */
	bool (*told)(void *context, const char *labels);
	void *context;
};

/* Add one, as critical if it fires as critical already; the later of two with the same labels
 * counts. */
void alert_set_add(struct alert_set *set, const struct alert_facts *facts);

/* All alerts of this kind are here: those that fire but are missing are over. */
void alert_set_know(struct alert_set *set, enum alert_kind kind);
bool alert_set_knows(const struct alert_set *set, enum alert_kind kind);
void alert_set_release(struct alert_set *set);

/* The text cut to ALERT_TEXT_MAX at a character. New reference. */
json_t *alert_text(const char *text);

/* An alert for POST /api/v2/alerts. */
struct alert_post {
	const char *labels;  /* JSON */
	json_t *annotations; /* borrowed */
	const char *link;    /* or NULL */
	uint64_t since_us, until_us;
};

/* New reference; NULL: the labels cannot be parsed. */
json_t *alert_post_json(const struct alert_post *post);
