/* SPDX-License-Identifier: Apache-2.0 */
/* What the views of jobs have in common: a job's numbers and states in words, and their lines. */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct page;

/* "gpu-17, gpu-18 and 3 more", clean; "-" for none. New memory. */
char *job_words_hosts(const json_t *hosts);

/*
 * "1.09 [1.07, 1.11]": a number without a unit and its 95 % interval; "1.09" without one,
 * "-" without a value. New memory.
 */
char *job_words_interval(double value, double low, double high);

/* The same of {value, low, high}, with so many decimals: shares differ by tenths, gains by
 * hundredths. */
char *job_words_range(const json_t *range, int decimals);

/* The same of the keys slowdown, slowdown_low and slowdown_high. */
char *job_words_slowdown(const json_t *object);

/*
 * "; it computes at 88 % of what is usual for its model, and its own tests ran at 99 %": of a
 * suspect, as much as is known. New memory.
 */
char *job_words_speed(const json_t *suspect);

/* "16", or "-". New memory. */
char *job_words_count(const json_t *object, const char *key);

/* "suspect     gpu-17 ...", wrapped below its own start. `text` is a stranger's; `paint` is an enum
 * paint or TABLE_NONE. */
void job_words_put(const struct page *page, const char *label, const char *text, int paint);

/* "gpu-17: all of the host, ordered 3m ago: it failed again", or `open`. New memory. */
char *job_words_test(const json_t *test, const char *open, const struct page *page);

/* Is it suspected, or is it only the slowest, as some host always is? */
bool job_words_is_suspected(const json_t *suspect);

/* 0 for a state that wants somebody first, more for one that wants nobody: how jobs are sorted. */
int job_words_rank(const char *state);

/* enum paint of a job's state. One that is not known here is tomorrow's, and wants somebody. */
int job_words_paint(const char *state);
