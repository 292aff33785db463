/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/diagnosis_rerun.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "controller/controller.h"
#include "controller/job/diagnosis_record.h"
#include "controller/job/run_pace.h"
#include "controller/store/store_investigations.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

enum { NAMES_TOLD = 8 }; /* of the excluded hosts */

const char *const diagnosis_rerun_outcomes[] = {
	[DIAGNOSIS_RERUN_FASTER] = "faster",
	[DIAGNOSIS_RERUN_SAME] = "same",
	[DIAGNOSIS_RERUN_SLOWER] = "slower",
	[DIAGNOSIS_RERUN_UNKNOWN] = "unknown",
	NULL,
};

/* --- outcome --- */

static bool is_pace(double seconds)
{
	return isfinite(seconds) && seconds > 0;
}

int diagnosis_rerun_outcome(double before_s, double after_s)
{
	const double gain = 1 - after_s / before_s;

	if (!is_pace(before_s) || !is_pace(after_s))
		return DIAGNOSIS_RERUN_UNKNOWN;
	if (gain > DIAGNOSIS_RERUN_ALIKE)
		return DIAGNOSIS_RERUN_FASTER;
	return gain < -DIAGNOSIS_RERUN_ALIKE ? DIAGNOSIS_RERUN_SLOWER : DIAGNOSIS_RERUN_SAME;
}

/* "gpu-08, gpu-09 and 3 more". New memory. */
static char *names_of(const json_t *names)
{
	const size_t n = json_array_size(names);
	char *words = xstrdup("");
	size_t i;

	for (i = 0; i < n && i < NAMES_TOLD; i++) {
		CLEANUP(freep) char *so_far = words;

		words = xasprintf("%s%s%s", so_far, i ? ", " : "",
				  json_string_value(json_array_get(names, i)));
	}
	if (n > NAMES_TOLD) {
		CLEANUP(freep) char *so_far = words;

		words = xasprintf("%s and %zu more", so_far, n - NAMES_TOLD);
	}
	return words;
}

char *diagnosis_rerun_words(int64_t run, const json_t *excluded, double before_s, double after_s)
{
	const int outcome = diagnosis_rerun_outcome(before_s, after_s);
	const double percent = 100 * (1 - after_s / before_s);
	CLEANUP(freep) char *names = names_of(excluded);
	CLEANUP(freep) char *what = NULL;

	if (outcome == DIAGNOSIS_RERUN_UNKNOWN)
		return xasprintf("run %" PRId64
				 " without %s: %.3g s a step; the step time before is unknown",
				 run, names, after_s);
	if (outcome == DIAGNOSIS_RERUN_FASTER)
		what = xasprintf("faster by %.1f %%", percent);
	else if (outcome == DIAGNOSIS_RERUN_SLOWER)
		what = xasprintf("slower by %.1f %%: the excluded hosts were not what "
				 "slowed it down",
				 -percent);
	else
		what = xasprintf("no faster (%+.1f %%, and runs differ by %.0f %%): the excluded "
				 "hosts were not what slowed it down",
				 -percent, 100 * DIAGNOSIS_RERUN_ALIKE);
	return xasprintf("run %" PRId64 " without %s: %.3g s -> %.3g s a step: %s", run, names,
			 before_s, after_s, what);
}

/* --- the pace of a run --- */

static json_int_t integer(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* --- before --- */

void diagnosis_rerun_note(struct investigation *inv, const struct job_judging_input *in)
{
	json_t *before = json_null();
	struct run_shape shape;
	struct run_pace pace;

	if (json_object_get(inv->diagnosis, "before"))
		return;
	if (in->n > 0 && in->windows[0].run == inv->run) {
		shape = run_pace_shape(in->windows[0].summary);
		pace = run_pace_of(in, &shape, in->now_us);
		if (pace.mean.steps > 0)
			before = json_pack(
				"{s:I, s:o, s:I, s:I, s:I, s:I}", "run", (json_int_t)pace.run,
				"step_s", json_seconds(pace.mean.seconds), "steps",
				(json_int_t)pace.mean.steps, "ranks", (json_int_t)shape.ranks, "dp",
				(json_int_t)shape.dp, "pp", (json_int_t)shape.pp);
	}
	diagnosis_record_put(inv->diagnosis, "before", before);
	diagnosis_record_put(inv->diagnosis, "next", json_null());
}

/* --- after --- */

struct rerun {
	struct service *s;
	const struct job_judging_input *in;
	struct err *err;
};

/* Is one of them known to be in the run? */
static int look_for(const struct rerun *w, const struct run_pace *pace, const json_t *excluded,
		    bool *ret)
{
	CLEANUP(json_freep) json_t *hosts = NULL;
	size_t i;
	int r = run_pace_hosts(w->in, pace, &hosts, w->err);

	*ret = false;
	for (i = 0; r == 0 && i < json_array_size(excluded); i++)
		*ret |= json_has_text(hosts, json_string_value(json_array_get(excluded, i)));
	return r;
}

static int keep(const struct rerun *w, json_t *row, const struct run_pace *pace)
{
	json_t *diagnosis = json_object_get(row, "diagnosis");
	const json_t *excluded = json_object_get(json_object_get(diagnosis, "result"), "exclude");
	const double before_s = number(json_object_get(diagnosis, "before"), "step_s");
	const double after_s = pace->mean.seconds;
	const int outcome = diagnosis_rerun_outcome(before_s, after_s);
	CLEANUP(freep) char *words = diagnosis_rerun_words(pace->run, excluded, before_s, after_s);
	const struct store_investigation one = {
		.id = integer(row, "id"),
		.job = w->in->id,
		.began_us = json_stamp_us(json_object_get(row, "began")),
		.ended_us = json_stamp_us(json_object_get(row, "ended")),
		.body = row,
	};

	diagnosis_record_put(diagnosis, "next",
			     json_pack("{s:I, s:o, s:I, s:o, s:s, s:s, s:o}", "run",
				       (json_int_t)pace->run, "step_s", json_seconds(after_s),
				       "steps", (json_int_t)pace->mean.steps, "gain",
				       outcome == DIAGNOSIS_RERUN_UNKNOWN
					       ? json_null()
					       : json_seconds(1 - after_s / before_s),
				       "outcome", diagnosis_rerun_outcomes[outcome], "sentence",
				       words, "at", json_stamp(w->in->now_us)));
	service_touch(w->s);
	return store_put_investigation(w->in->store, &one, w->err);
}

/* Is this stored diagnosis waiting for a run? */
static bool waits(const json_t *row, const struct job_judging_input *in)
{
	const json_t *diagnosis = json_object_get(row, "diagnosis");
	const uint64_t ended_us = json_stamp_us(json_object_get(row, "ended"));

	return streq(diagnosis_record_text(row, "state"),
		     investigation_state_names[INVESTIGATION_EXCLUDED]) &&
	       json_is_object(diagnosis) && !json_is_object(json_object_get(diagnosis, "next")) &&
	       ended_us > 0 && in->windows[0].run > integer(row, "run");
}

static int check(const struct rerun *w, json_t *row)
{
	const json_t *diagnosis = json_object_get(row, "diagnosis");
	const json_t *before = json_object_get(diagnosis, "before");
	const uint64_t ended_us = json_stamp_us(json_object_get(row, "ended"));
	const struct run_shape shape = run_pace_shape(w->in->windows[0].summary);
	const struct run_shape was = run_pace_shape(before);
	const struct run_pace pace = run_pace_of(w->in, &shape, ended_us + PREDICTION_WAITS_US);
	bool among = false;
	int r;

	if (pace.mean.steps < PREDICTION_STEPS ||
	    (json_is_object(before) && !run_pace_alike(&was, &shape)))
		return 0;
	r = look_for(w, &pace, json_object_get(json_object_get(diagnosis, "result"), "exclude"),
		     &among);
	return r < 0 || among ? r : keep(w, row, &pace);
}

int diagnosis_rerun_check(struct service *s, const struct job_judging_input *in, struct err *err)
{
	const uint64_t since_us = in->now_us - MIN(in->now_us, 2 * PREDICTION_WAITS_US);
	const struct rerun w = { s, in, err };
	CLEANUP(json_freep) json_t *rows = NULL;
	size_t i;
	int r = in->n > 0 ? store_investigations_of(in->store, in->id, since_us, &rows, err) : 0;

	for (i = 0; r == 0 && i < json_array_size(rows); i++) {
		json_t *row = json_array_get(rows, i);

		if (waits(row, in))
			r = check(&w, row);
	}
	return r;
}
