/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A view: what to fetch from the controller and how to show it. A picture is fetched completely
 * first, so that a table, JSON and key=value lines have the same contents.
 *
 * The controller's data is untrusted: every string passes lib/sys/table.h or lib/base/utf8.h on
 * its way to a terminal, and members that are missing or of the wrong type are shown as "-".
 */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/macro.h"

struct err;
struct link;
struct request;

struct picture {
	json_t *document; /* owned; printed by -o json */
	size_t total;	  /* items before filtering and --limit */
};

/* How to print. */
struct page {
	FILE *out;
	bool colour;
	unsigned width;	       /* UINT_MAX: no limit */
	uint64_t now_us;       /* real time, for ages */
	const json_t *changed; /* object whose keys are the changed items; NULL: none */
	bool wide;	       /* -o wide: include rarely needed columns */
	bool cut;	       /* output: something did not fit */
};

struct view {
	int (*fetch)(struct link *link, const struct request *request, struct picture *ret,
		     struct err *err);
	/* One-sentence summary, clean. The caller frees it. */
	char *(*summary)(const struct picture *picture, const struct page *page);
	/* Print the rest. */
	void (*show)(const struct picture *picture, struct page *page);
	/* Stable identity of a list item. The caller frees it; NULL: not a list. */
	char *(*key)(const json_t *item);
};

extern const struct view view_nodes, view_node, view_why, view_incidents, view_baselines,
	view_drift, view_act, view_actions, view_breaker, view_coverage, view_replay, view_evidence,
	view_campaign, view_campaigns, view_diagnose, view_investigation, view_investigations,
	view_jobs, view_job, view_submit, view_beat, view_silences, view_overrides, view_token,
	view_tokens, view_join_command, view_sessions, view_plan;

void picture_release(struct picture *picture);

/* Print it in the format of -o; for a table the summary comes last, or first. */
void view_print(const struct request *request, const struct picture *picture, struct page *page,
		bool summary_first);

/* --- words for views ------------------------------------------------------ */

/* String at `key`, safe for a terminal, "-" if there is none. The caller frees it. */
char *text_at(const json_t *object, const char *key);

/* The same unmodified, for comparisons. "" if there is none. Borrowed. */
const char *raw_at(const json_t *object, const char *key);

/* NAN if there is none. */
double number_at(const json_t *object, const char *key);

/* "40.1 GB/s"; "-" without a value. The caller frees it. */
char *quantity(double value, const char *unit);

/* "57 %", or "-". The caller frees it. */
char *ratio(double value, double expected);

/* "3m ago", from a timestamp or seconds; "-" if there is none. The caller frees it. */
char *age_of_stamp(const char *stamp, uint64_t now_us);
char *age_of_seconds(double seconds);

/* "06:23Z", with the date if more than a day away; "-" if there is none. The caller frees it. */
char *view_moment(const char *stamp, uint64_t now_us);

/* enum paint of "pass", "warn", "fail", "inconclusive". */
int paint_of_level(const char *level);

/* Sort key of levels: 0 is the worst. */
int rank_of_level(const char *level);

/* The sentence without a leading "fail: " that repeats `level`. Borrowed. */
const char *sentence_of(const json_t *object, const char *level);

/* Text of a first column, marked if `key` has changed. The caller frees it. */
char *marked(const struct page *page, const char *text, const char *key);

/* Print JSON with control characters as \uXXXX: the same value, safe for a terminal. */
void print_json(const json_t *value, FILE *out, bool pretty);
void print_kv(const json_t *value, FILE *out);
