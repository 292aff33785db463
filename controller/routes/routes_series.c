/* SPDX-License-Identifier: Apache-2.0 */
/* A check of a host over time, from stored reports with samples. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "controller/controller.h"
#include "controller/fleet/baseline.h"
#include "controller/http/api.h"
#include "controller/routes/background_job.h"
#include "controller/routes/routes.h"
#include "controller/store/pack.h"
#include "controller/store/store.h"
#include "controller/store/store_series.h"
#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/reference.h"
#include "lib/judge/stats.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"

enum {
	POINTS_DEFAULT = 96, /* a day of the profile quick */
	POINTS_MAX = 512,
	REPORTS_MAX = 2000, /* decompressed for one answer */
	STEP_REPORTS = 8,
	NAME_MAX_SIZE = 256, /* of a check or a subject */
	VALUES_MAX = 4096,   /* subjects per check */
};

#define SINCE_DEFAULT_US USEC_PER_DAY

/* Values of one report. */
struct point {
	uint64_t seen_us;
	double value, min, max; /* NAN: not measured */
	double expected, floor; /* of the worst item that was not pass; NAN */
	int level;		/* enum verdict_level */
};

struct series {
	struct service *service;
	char *node, *check, *subject; /* subject NULL: all */
	uint64_t now_us;
	struct store_series_range range; /* still to be read */
	size_t points_max;
	struct point points[REPORTS_MAX]; /* newest first */
	size_t n, looked, left_out;
	char *unit;
	int better;
	double expected, floor; /* current */
	char *quoted;		/* check name as in a report: others need not be parsed */
};

/* --- one report --- */

/* Items that are not pass; those of other subjects are ignored. */
struct judged {
	const struct series *series;
	struct point *point;
};

static void take_item(void *context, const char *subject, int level, double expected, double floor)
{
	const struct judged *j = context;

	if ((j->series->subject && !streq(j->series->subject, subject)) || level < j->point->level)
		return;
	j->point->level = level;
	j->point->expected = j->series->subject ? expected : NAN;
	j->point->floor = j->series->subject ? floor : NAN;
}

/* What the other hosts reach now, from the newest report with the check. */
static void take_today(struct series *series, const struct report *report, const struct sample *s)
{
	struct expectation e;
	struct measure m;

	series->unit = xstrdup(s->unit);
	series->better = s->better;
	if (series->subject && measure_of(s, &m) &&
	    baselines_expect(&series->service->baselines, report, s, &m, NULL, &e)) {
		series->expected = e.expected;
		series->floor = e.floor;
	}
}

/* Returns false if the report has no such samples. */
static bool take_samples(struct series *series, const struct report *report, struct point *ret)
{
	double values[VALUES_MAX];
	size_t n = 0, said = 0, i;

	for (i = 0; i < report->n_samples; i++) {
		const struct sample *s = &report->samples[i];

		if (!streq(s->check, series->check) ||
		    (series->subject && !streq(s->subject, series->subject)))
			continue;
		if (said++ == 0 && !series->unit)
			take_today(series, report, s);
		if (s->state == SAMPLE_MEASURED && isfinite(s->value) && n < VALUES_MAX)
			values[n++] = s->value;
	}
	if (n > 0) {
		stats_sort(values, n);
		ret->value = stats_median(values, n);
		ret->min = values[0];
		ret->max = values[n - 1];
	}
	return said > 0;
}

static void take_report(void *context, const struct store_series_report *r)
{
	struct series *series = context;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(REPORT_MAX);
	struct point point = { r->seen_us, NAN, NAN, NAN, NAN, NAN, VERDICT_PASS };
	struct judged judged = { series, &point };
	struct report report = { 0 };

	series->looked++;
	if (r->body.length == 0 || pack_open(&r->body, &text, NULL) < 0) {
		series->left_out++;
		return;
	}
	/* Most reports are passive ones without the check: do not parse those. */
	if (!memmem(text.data, text.len, series->quoted, strlen(series->quoted)) ||
	    report_read(text.data, text.len, &series->service->memo, &report, NULL) < 0)
		return;
	if (series->n < REPORTS_MAX && take_samples(series, &report, &point)) {
		(void)store_series_items(series->service->store, r->id, series->check, take_item,
					 &judged, NULL);
		series->points[series->n++] = point;
	}
	report_release(&report);
}

static int step(void *context, struct err *err)
{
	struct series *series = context;
	int n;

	series->range.limit = MIN((size_t)STEP_REPORTS, REPORTS_MAX - series->looked);
	n = store_series_reports(series->service->store, series->node, &series->range, take_report,
				 series, err);
	return n < 0 ? n : (size_t)n == series->range.limit && series->looked < REPORTS_MAX;
}

/* --- answer --- */

/* Merge points from `first`, the newest, into one. */
static json_t *merged(const struct point *first, size_t n)
{
	CLEANUP(freep) double *values = xcalloc(n, sizeof(*values));
	double min = NAN, max = NAN;
	const struct point *worst = first;
	size_t measured = 0, i;

	for (i = 0; i < n; i++) {
		if (first[i].level > worst->level)
			worst = &first[i];
		if (!isfinite(first[i].value))
			continue;
		values[measured++] = first[i].value;
		min = fmin(min, first[i].min);
		max = fmax(max, first[i].max);
	}
	stats_sort(values, measured);
	return json_pack("{s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:s}", "time",
			 json_stamp(first->seen_us), "reports", (json_int_t)n, "value",
			 json_number(measured ? stats_median(values, measured) : NAN), "min",
			 json_number(min), "max", json_number(max), "expected",
			 json_number(worst->expected), "floor", json_number(worst->floor),
			 "verdict", verdict_level_names[worst->level]);
}

/* The time slot of a point, if there are too many. */
static size_t part_of(const struct series *series, const struct point *point)
{
	const uint64_t span_us = series->now_us - series->range.since_us + 1;
	const uint64_t at_us = MAX(point->seen_us, series->range.since_us) - series->range.since_us;

	return (size_t)((double)MIN(at_us, span_us - 1) / (double)span_us *
			(double)series->points_max);
}

static json_t *points_of(const struct series *series)
{
	json_t *list = json_array();
	size_t first, end;

	for (first = 0; first < series->n; first = end) {
		for (end = first + 1; end < series->n && series->n > series->points_max &&
				      part_of(series, &series->points[end]) ==
					      part_of(series, &series->points[first]);
		     end++)
			;
		(void)json_array_insert_new(list, 0, merged(&series->points[first], end - first));
	}
	return list;
}

static int compare_points(const void *a, const void *b)
{
	const uint64_t x = ((const struct point *)a)->seen_us,
		       y = ((const struct point *)b)->seen_us;

	return x < y ? 1 : x > y ? -1 : 0;
}

static void answer(void *context, struct call *call)
{
	struct series *series = context;

	/* Late reports are newer in the store than by time. */
	qsort(series->points, series->n, sizeof(series->points[0]), compare_points);
	call_reply(call, 200,
		   json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o}", "node",
			     series->node, "check", series->check, "subject",
			     json_text(series->subject), "unit", json_text(series->unit), "better",
			     json_text(series->n ? sample_better_names[series->better] : NULL),
			     "since", json_stamp(series->range.since_us), "until",
			     json_stamp(series->now_us), "expected", json_number(series->expected),
			     "floor", json_number(series->floor), "reports", (json_int_t)series->n,
			     "left_out", (json_int_t)series->left_out, "points", points_of(series)));
}

static void release(void *context)
{
	struct series *series = context;

	free(series->node);
	free(series->check);
	free(series->subject);
	free(series->unit);
	free(series->quoted);
	free(series);
}

/* --- request --- */

/* A name in the query; returns false after refusing the call. */
static bool name_of(struct call *call, const char *key, bool needed, const char **ret)
{
	const char *value = call_argument(call, key);

	*ret = value;
	if (!value && !needed)
		return true;
	if (value && *value && strlen(value) < NAME_MAX_SIZE)
		return true;
	call_refuse(call, 400, "%s: expected one of those in /v1/nodes/{node}/samples", key);
	return false;
}

static bool since_of(struct call *call, uint64_t *ret_us)
{
	const char *value = call_argument(call, "since");

	*ret_us = SINCE_DEFAULT_US;
	if (!value || (duration_parse(value, ret_us, NULL) == 0 && *ret_us > 0))
		return true;
	call_refuse(call, 400, "since: expected a duration like 24h");
	return false;
}

void routes_series_get(void *context, struct call *call)
{
	static const struct background_job_work work = { step, answer, release,
							 "too many reports to read within 25 s" };
	struct service *s = context;
	const char *check, *subject;
	struct err err = ERR_INIT;
	struct series *series;
	uint64_t since_us;
	unsigned long points_max = POINTS_DEFAULT;
	int r;

	if (!name_of(call, "check", true, &check) || !name_of(call, "subject", false, &subject) ||
	    !since_of(call, &since_us) ||
	    !routes_argument(call, "points", "", 1, POINTS_MAX, &points_max))
		return;
	r = routes_need_node(s, call_segment(call), &err);
	if (r < 0) {
		refuse_store(call, r, &err);
		return;
	}
	series = xcalloc(1, sizeof(*series));
	series->service = s;
	series->node = xstrdup(call_segment(call));
	series->check = xstrdup(check);
	series->subject = subject ? xstrdup(subject) : NULL;
	series->quoted = xasprintf("\"%s\"", check);
	series->now_us = clock_real_us();
	series->range.since_us = series->now_us - MIN(since_us, series->now_us);
	series->range.before = INT64_MAX;
	series->points_max = points_max;
	series->expected = series->floor = NAN;
	background_job_begin(s, call, &work, series);
}
