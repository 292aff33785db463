/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What suspects are measured for with others, as the investigation of a job keeps it: the ends of a
 * slow link in pairs, the hosts of a group that is accused as a whole with each other. "pairs", an
 * array of {"kind" ("link" "group"), "ends" (names; of a group its hosts that passed by
 * themselves), "since", "thirds" (of the run under way, or the last), "campaign" (under way; null),
 * "began" (it; null), "runs" [{"campaign", "at", "done", "ends" {name: what it said}, "text"}],
 * "verdicts" {name: "good" "between" "bad" "unknown"}, "tells" {name: what would tell}, "over"
 * (stamp; null), "text"}. Pure.
 *
 * A verdict stands but for "bad", which counts once as many runs as a failure is repeated said so
 * (retest.times), and which ends with one that does not.
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
	PAIR_RECORD_ENDS_MAX = 62, /* with two third hosts as many as a collective has */
};

enum pair_record_kind { PAIR_RECORD_LINK, PAIR_RECORD_GROUP, PAIR_RECORD_KINDS };

extern const char *const pair_record_kinds[]; /* "link" "group" */

/* By enum blame_end: "unknown" "good" "bad" "between". */
extern const char *const pair_record_ends[];

/* "gpu-1, gpu-2 and gpu-3". New memory. */
char *pair_record_names(const json_t *names);

/* A new one of these ends (copied). New reference. */
json_t *pair_record_new(int kind, const json_t *ends, uint64_t now_us);

/* enum pair_record_kind; what says none is of a link. */
int pair_record_kind(const json_t *entry);

/* When something was done of it last: its campaign began, else it was; 0: there is none. */
uint64_t pair_record_began_us(const json_t *entry);

/*
 * Of the investigations of a job, newest first: the newest entry since then of which the host is an
 * end; NULL: none. Borrowed.
 */
const json_t *pair_record_find(const json_t *investigations, const char *host, uint64_t since_us);

bool pair_record_is_end(const json_t *entry, const char *host);

/* Is it an end of one of these entries? */
bool pair_record_has(const json_t *pairs, const char *host);

/* What is said of a host of the entry: enum blame_end; END_UNKNOWN also while nothing is. */
int pair_record_end(const json_t *entry, const char *host);

/* Is all said of the host that will be? */
bool pair_record_is_over(const json_t *entry, const char *host);

/* What would tell, of a host of which nothing is known; or NULL. Borrowed. */
const char *pair_record_tells(const json_t *entry, const char *host);

/* The sentence of its last rung; NULL: none. Borrowed. */
const char *pair_record_text(const json_t *entry);

/*
 * When runs in a row said that it is bad, oldest first, at most `n`; returns how many.
 * `ret_began_us`: the first of them began.
 */
size_t pair_record_failed(const json_t *entry, const char *host, uint64_t *times, size_t n,
			  uint64_t *ret_began_us);

/* Say it of a host; `tells` NULL: nothing is missing. */
void pair_record_say(json_t *entry, const char *host, int end, const char *tells);

/* The sentence of the last rung, taken. */
void pair_record_note(json_t *entry, char *text);
