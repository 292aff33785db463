/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The series of a family whose labels hosts and files choose (checks, SKUs): never more than a
 * named number of them, whatever anybody sends. What is beyond is not silent: its values go into
 * one series whose labels are all METRIC_SERIES_OTHERS, and it is counted. Pure.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "lib/base/macro.h"

enum {
	METRIC_LABELS = 3,
	METRIC_SERIES_HELD =
		20000, /* distinct ones that are collected before the first are chosen */
};

#define METRIC_SERIES_OTHERS "(others)"

struct metric_row;

/* Zeroed it is empty. */
struct metric_series {
	void *tree; /* of struct metric_row, by labels */
	size_t n;
	uint64_t beyond;   /* that were not held */
	double beyond_sum; /* of their values */
};

/*
 * Add to the value of the series with these labels (NULL: ""). `rank` is for the choice when
 * there are too many: those of the highest stay.
 */
void metric_series_add(struct metric_series *s, const char *const labels[METRIC_LABELS],
		       double value, uint64_t rank);

/* The same, but of equal labels the value of the highest rank counts. */
void metric_series_put(struct metric_series *s, const char *const labels[METRIC_LABELS],
		       double value, uint64_t rank);

/* How a family is written. */
struct metric_series_form {
	const char *name;
	const char *const *keys; /* METRIC_LABELS names of labels */
	size_t most;		 /* series beside the one of the others */
	bool sums;		 /* the values can be added up: there is one of the others */
	int digits;		 /* significant ones of a value */
};

/* Its lines, by labels. */
void metric_series_write(const struct metric_series *s, const struct metric_series_form *form,
			 FILE *out);

/* How many series there is no room for among `most`. */
uint64_t metric_series_left_out(const struct metric_series *s, size_t most);

/* One label's value as the text format wants it: backslash, quote and line feed escaped. */
void metric_series_escape(const char *text, FILE *out);

void metric_series_release(struct metric_series *s);
