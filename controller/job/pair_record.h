/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measurements of suspects with others, as stored in a job's investigation: the ends of a slow link
 * in pairs, the hosts of a group accused as a whole with each other. "pairs", an array of {"kind"
 * ("link" "group"), "ends" (names; of a group the hosts that passed on their own), "since",
 * "thirds" (of the current run, or the last), "campaign" (in progress; null), "began" (its begin;
 * null), "runs" [{"campaign", "at", "done", "ends" {name: result}, "text"}], "verdicts" {name:
 * "good" "between" "bad" "unknown"}, "tells" {name: missing evidence}, "over" (stamp; null),
 * "text"}. Pure.
 *
 * Verdicts are final, except "bad", which counts once as many runs as a failure is repeated say so
 * (retest.times), and ends with one that does not.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/blame.h"

enum {
	PAIR_RECORD_RUNS_MAX = 16,
	PAIR_RECORD_ENTRIES_MAX = 8,
	PAIR_RECORD_ENDS_MAX = 62, /* with two third hosts, as many as a collective has */
};

enum pair_record_kind { PAIR_RECORD_LINK, PAIR_RECORD_GROUP, PAIR_RECORD_KINDS };

extern const char *const pair_record_kinds[]; /* "link" "group" */

/* By enum blame_end: "unknown" "good" "bad" "between". */
extern const char *const pair_record_ends[];

/* "gpu-1, gpu-2 and gpu-3". New memory. */
char *pair_record_names(const json_t *names);

/* Create an entry for these ends (copied). New reference. */
json_t *pair_record_new(int kind, const json_t *ends, uint64_t now_us);

/* enum pair_record_kind; without "kind" it is a link. */
int pair_record_kind(const json_t *entry);

/* When its campaign began, or else when it was created; 0: unknown. */
uint64_t pair_record_began_us(const json_t *entry);

/*
 * In a job's investigations, newest first: the newest entry since then that has the host as an end;
 * NULL: none. Borrowed.
 */
const json_t *pair_record_find(const json_t *investigations, const char *host, uint64_t since_us);

bool pair_record_is_end(const json_t *entry, const char *host);

/* Is the host an end in one of these entries? */
bool pair_record_has(const json_t *pairs, const char *host);

/* Verdict on a host of the entry: enum blame_end; END_UNKNOWN also while there is none. */
int pair_record_end(const json_t *entry, const char *host);

/* Is the verdict on the host final? */
bool pair_record_is_over(const json_t *entry, const char *host);

/* The missing evidence for a host with an unknown verdict, borrowed; NULL: none. */
const char *pair_record_tells(const json_t *entry, const char *host);

/* Sentence on its last rung, borrowed; NULL: none. */
const char *pair_record_text(const json_t *entry);

/*
 * Write the times of at most `n` consecutive runs, oldest first, that found it bad; returns their
 * number. `ret_began_us`: begin of the first of them.
 */
size_t pair_record_failed(const json_t *entry, const char *host, uint64_t *times, size_t n,
			  uint64_t *ret_began_us);

/* Set the verdict on a host; `tells` NULL: no evidence is missing. */
void pair_record_say(json_t *entry, const char *host, int end, const char *tells);

/* Set the sentence on the last rung. Takes ownership of the text. */
void pair_record_note(json_t *entry, char *text);
