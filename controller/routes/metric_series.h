/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The series of a family whose labels are chosen by hosts and files (checks, SKUs): limited to a
 * fixed number, whatever is sent. The excess is not dropped silently: its values go into one series
 * with all labels METRIC_SERIES_OTHERS, and it is counted. Pure.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "lib/base/macro.h"

enum {
	METRIC_LABELS = 3,
	METRIC_SERIES_HELD = 20000, /* distinct ones collected before the first are chosen */
};

#define METRIC_SERIES_OTHERS "(others)"

struct metric_row;

/* Initially zero. */
struct metric_series {
	void *tree; /* struct metric_row, by labels */
	size_t n;
	uint64_t beyond;   /* number of series not held */
	double beyond_sum; /* of their values */
};

/*
 * Add to the value of the series with these labels (NULL: ""). `rank` decides if there are too
 * many: the highest stay.
 */
void metric_series_add(struct metric_series *s, const char *const labels[METRIC_LABELS],
		       double value, uint64_t rank);

/* As metric_series_add(), but of equal labels only the value with the highest rank counts. */
void metric_series_put(struct metric_series *s, const char *const labels[METRIC_LABELS],
		       double value, uint64_t rank);

/* Format of a family. */
struct metric_series_form {
	const char *name;
	const char *const *keys; /* METRIC_LABELS label names */
	size_t most;		 /* series in addition to that of the others */
	bool sums;		 /* values can be added up: write a series for the others */
	int digits;		 /* significant digits of a value */
};

/* Write its lines, sorted by labels. */
void metric_series_write(const struct metric_series *s, const struct metric_series_form *form,
			 FILE *out);

/* Number of series beyond the first `most`. */
uint64_t metric_series_left_out(const struct metric_series *s, size_t most);

/* Write a label value in the text format: backslash, quote and line feed escaped. */
void metric_series_escape(const char *text, FILE *out);

void metric_series_release(struct metric_series *s);
