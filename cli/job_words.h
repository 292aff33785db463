/* SPDX-License-Identifier: Apache-2.0 */
/* Common code of job views: a job's numbers and states as text, and labelled lines. */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct page;

/* "gpu-17, gpu-18 and 3 more", clean; "-" for none. The caller frees it. */
char *job_words_hosts(const json_t *hosts);

/*
 * "1.09 [1.07, 1.11]": a number without a unit and its 95 % interval; "1.09" without an interval,
 * "-" without a value. The caller frees it.
 */
char *job_words_interval(double value, double low, double high);

/*
 * The same from {value, low, high}, with that many decimals: shares differ by tenths, gains by
 * hundredths.
 */
char *job_words_range(const json_t *range, int decimals);

/* The same from the keys slowdown, slowdown_low and slowdown_high. */
char *job_words_slowdown(const json_t *object);

/*
 * "; it computes at 88 % of what is usual for its model, and its own tests ran at 99 %": of a
 * suspect, as far as known. The caller frees it.
 */
char *job_words_speed(const json_t *suspect);

/* "16", or "-". The caller frees it. */
char *job_words_count(const json_t *object, const char *key);

/*
 * Print "suspect     gpu-17 ...", wrapped and indented. `text` is untrusted; `paint` is an enum
 * paint or TABLE_NONE.
 */
void job_words_put(const struct page *page, const char *label, const char *text, int paint);

/* "gpu-17: all of the host, ordered 3m ago: it failed again", or `open`. The caller frees it. */
char *job_words_test(const json_t *test, const char *open, const struct page *page);

/* Is it suspected, or just the slowest host, as one always is? */
bool job_words_is_suspected(const json_t *suspect);

/* Sort key of a job's state: 0 for those that need attention first, more for those that do not. */
int job_words_rank(const char *state);

/* enum paint of a job's state. An unknown state, from a newer controller, needs attention. */
int job_words_paint(const char *state);
