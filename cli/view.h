/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A view: what is fetched from the controller and how it is shown. A picture is
 * fetched whole, so that a table, JSON and key=value lines say the same.
 *
 * What comes from the controller is a stranger's: every text passes
 * lib/sys/table.h or lib/base/utf8.h on its way to a terminal, and members that are
 * absent or of another type are shown as "-".
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
	json_t *document; /* owned; what -o json prints */
	size_t total;	  /* items before filters and --limit */
};

/* Where it is shown. */
struct page {
	FILE *out;
	bool colour;
	unsigned width;	       /* UINT_MAX: no limit */
	uint64_t now_us;       /* of the real clock, for ages */
	const json_t *changed; /* object whose keys are those of changed items; NULL: none */
	bool wide;	       /* -o wide: with what is not needed every day */
	bool cut;	       /* out: something did not fit */
};

struct view {
	int (*fetch)(struct link *link, const struct request *request, struct picture *ret,
		     struct err *err);
	/* All of it in one sentence, clean. New memory. */
	char *(*summary)(const struct picture *picture, const struct page *page);
	/* The rest. */
	void (*show)(const struct picture *picture, struct page *page);
	/* What names an item of a list for as long as it is there. New memory; NULL: no list. */
	char *(*key)(const json_t *item);
};

extern const struct view view_nodes, view_node, view_why, view_incidents, view_baselines,
	view_drift, view_act, view_actions, view_breaker, view_coverage, view_replay, view_evidence,
	view_campaign, view_campaigns, view_diagnose, view_investigation, view_investigations,
	view_jobs, view_job, view_submit, view_beat, view_silences, view_overrides, view_token,
	view_tokens, view_join_command, view_sessions, view_plan;

void picture_release(struct picture *picture);

/* Print it as the request's -o says; for a table the summary comes last, or first. */
void view_print(const struct request *request, const struct picture *picture, struct page *page,
		bool summary_first);

/* --- words for views ------------------------------------------------------ */

/* Text at `key` without what could drive a terminal, "-" when there is none. New memory. */
char *text_at(const json_t *object, const char *key);

/* The same as it is: for comparing. "" when there is none. Borrowed. */
const char *raw_at(const json_t *object, const char *key);

/* NAN when there is none. */
double number_at(const json_t *object, const char *key);

/* "40.1 GB/s"; "-" without a value. New memory. */
char *quantity(double value, const char *unit);

/* "57 %", or "-". New memory. */
char *ratio(double value, double expected);

/* "3m ago", of a stamp or of seconds; "-" when there is none. New memory. */
char *age_of_stamp(const char *stamp, uint64_t now_us);
char *age_of_seconds(double seconds);

/* "06:23Z", or with its date where that is not within a day; "-" when there is none. New memory. */
char *view_moment(const char *stamp, uint64_t now_us);

/* enum paint of "pass", "warn", "fail", "inconclusive". */
int paint_of_level(const char *level);

/* 0 for the worst: how levels are sorted. */
int rank_of_level(const char *level);

/* A sentence without the "fail: " that repeats `level`. Borrowed. */
const char *sentence_of(const json_t *object, const char *level);

/* The cell of a first column: with a mark when `key` changed. New memory. */
char *marked(const struct page *page, const char *text, const char *key);

/* JSON with all that could drive a terminal as \uXXXX: the same value. */
void print_json(const json_t *value, FILE *out, bool pretty);
void print_kv(const json_t *value, FILE *out);
