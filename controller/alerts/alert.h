/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What operators are told of, as Alertmanager has it: labels, which say what it is, and
 * annotations, which say it to people. Pure.
 *
 * In Alertmanager the labels are the alert: another value of one of them is another alert, which
 * notifies anew while the old one fires on. So nothing is a label that changes while the thing
 * stays what it is. That nobody knows any more whether it is so (`stale`) is an annotation: as a
 * label each restart would begin all alerts anew, and end the old ones with nobody having judged
 * them. The severity of a thing rises and never falls: the worse one takes the place of the other.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/base/map.h"

/* It stays for so long when nobody says it again: a controller that died is no all-clear. */
#define ALERT_STAYS_US USEC_PER_DAY

enum {
	ALERTS_MAX = 2048,     /* told at once; the oldest first */
	ALERT_TEXT_MAX = 1024, /* bytes of an annotation, cut beyond */
};

enum alert_kind {
	ALERT_INCIDENT, /* of a host */
	ALERT_SHARED,	/* many hosts have it: a SKU, a rack, a setting or a job is named */
	ALERT_CORDON,
	ALERT_SLOW_JOB,
	ALERT_STOPPED_JOB,
	ALERT_BREAKER,
	ALERT_KINDS,
};

/* The label alertname of each kind. */
extern const char *const alert_names[];

/* The kind of labels that alert_set_add() made; ALERT_KINDS: of none. */
enum alert_kind alert_kind_of(const json_t *labels);

enum alert_severity { ALERT_INFO, ALERT_WARNING, ALERT_CRITICAL };

/* Of an incident, by its policy_action and whether it is fatal. */
enum alert_severity alert_incident_severity(int action, bool fatal);

/* A cordon by hand is no news to who did it. */
enum alert_severity alert_cordon_severity(const char *by);

/*
 * Is the job to be told as slow, by its `state` and slowdown as they are shown? SMon (Lin et al.,
 * "Understanding Stragglers in Large Model Training Using What-if Analysis", 2025) alerts from 1.1
 * on. One that was told stays until a window says less.
 */
bool alert_job_is_slow(const char *state, double slowdown, bool told);

/* A thing that is so. All borrowed; NULL and 0: it has none. */
struct alert_facts {
	enum alert_kind kind;
	enum alert_severity severity;
	const char *node; /* a host; of ALERT_SHARED what the hosts have in common */
	const char *check;
	const char *job;
	int64_t incident;
	uint64_t since_us;			 /* real; 0: nobody knows */
	const char *sentence, *clears, *command; /* what is wrong, what ends it, what says more */
	const char *path;			 /* below the address of the controller */
	const char *stale;			 /* why it may no longer be so */
};

/* Its labels, JSON with sorted keys; new memory. Of a job "research/llm-7" its namespace is one. */
char *alert_labels(const struct alert_facts *facts);

/* The same, kept. */
struct alert {
	char *name; /* the labels, JSON with sorted keys */
	enum alert_kind kind;
	uint64_t since_us;
	json_t *annotations; /* but for the link */
	char *path;
};

/* All that is so now. Zero it before its first use. */
struct alert_set {
	struct map map;	 /* of struct alert */
	unsigned known;	 /* a bit of each alert_kind: all of it is here, what is not is over */
	size_t left_out; /* beyond ALERTS_MAX */
	/* Are these labels told already? NULL: none are. */
	bool (*told)(void *context, const char *labels);
	void *context;
};

/* Add one, as critical where it is told as that already; the later of two with the same labels. */
void alert_set_add(struct alert_set *set, const struct alert_facts *facts);

/* What there is of this kind is all here: what was told and is not is over. */
void alert_set_know(struct alert_set *set, enum alert_kind kind);
bool alert_set_knows(const struct alert_set *set, enum alert_kind kind);
void alert_set_release(struct alert_set *set);

/* The text cut to ALERT_TEXT_MAX at the end of a character; new reference. */
json_t *alert_text(const char *text);

/* An alert as POST /api/v2/alerts takes it. */
struct alert_post {
	const char *labels;  /* JSON */
	json_t *annotations; /* borrowed */
	const char *link;    /* or NULL */
	uint64_t since_us, until_us;
};

/* New reference; NULL: the labels cannot be read. */
json_t *alert_post_json(const struct alert_post *post);
