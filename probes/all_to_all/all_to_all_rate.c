/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of all GPUs: their data, and how fast they are by size. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/clock.h"
#include "lib/xalloc.h"
#include "probes/accel/watch.h"
#include "probes/all_to_all/all_to_all.h"

enum {
	ONCE_US = 5000000, /* longest for one operation, or NCCL_REPEAT_MAX of them */
	WINDOW_US = 5000,  /* of a sub-window: as many operations as that holds */
	WARM_UPS = 5,
	SIZE_STEP = 16, /* from one size to the next */
};

/* Lower than this part of the best that was measured here, pairs are looked at. */
static const double suspect_part = 0.95;

static uint64_t now_us(const struct all_to_all *t)
{
	return t->plan->accel->ops->now_us(t->plan->accel);
}

/* A whole number of 16 bytes for each of the ranks: what NCCL moves fastest. */
static uint64_t whole(const struct all_to_all *t, uint64_t bytes)
{
	return MAX(bytes / (16 * t->n), (uint64_t)1) * 16 * t->n;
}

static void tell_end(struct all_to_all *t, const char *check, uint64_t bytes, int failed)
{
	const struct coll_result *result = &t->coll->result;
	const char *subject = result->suspect == COLL_NOBODY ? ALL_TO_ALL_SUBJECT
							     : t->devices[result->suspect].subject;
	struct sample s = all_to_all_sample(t, check, subject, bytes);
	CLEANUP(freep) char *why = NULL;

	if (failed == -ETIMEDOUT)
		why = xasprintf("an all-to-all of %" PRIu64 " bytes did not end in %d s: %s", bytes,
				(int)(ONCE_US / USEC_PER_SEC), result->why);
	accel_failure_fill(&s, subject, failed, why ? why : result->why);
	if (failed == -EPROTO) {
		s.state = SAMPLE_MEASURED;
		s.ok = TRI_NO;
		s.severity = SEVERITY_WARN;
		s.code = xstrdup("nccl-error");
	}
	(void)all_to_all_emit(t, &s);
}

bool all_to_all_once(struct all_to_all *t, const char *check, uint64_t bytes)
{
	const struct coll_op op = { COLL_ALL_TO_ALL, bytes };
	uint64_t deadline_us = MIN(now_us(t) + ONCE_US, t->plan->deadline_us);
	struct err err = ERR_INIT;
	int r = t->over ? -ECANCELED : coll_run(t->coll, &op, deadline_us, NULL, &err);

	if (r < 0) {
		if (!t->over)
			(void)all_to_all_tell_failure(t, r, err.msg);
		t->over = true;
		return false;
	}
	if (t->coll->result.state == COLL_DONE)
		return true;
	t->over = true;
	tell_end(t, check, bytes,
		 t->coll->result.state == COLL_LATE ? -ETIMEDOUT : nccl_coll_error(t->coll));
	return false;
}

/* --- data --- */

static void note_wrong(const struct all_to_all *t, struct sample *s, const struct coll_wrong *w,
		       bool again)
{
	s->ok = TRI_NO;
	s->code = xstrdup("wrong-data");
	s->severity = again ? SEVERITY_FATAL : SEVERITY_WARN;
	s->note = xasprintf("what %s sent to %s: element %" PRIu64
			    " is %.9g instead of %.9g, %" PRIu64 " wrong; %s",
			    t->devices[w->from].subject, t->devices[w->rank].subject, w->at,
			    (double)w->is, (double)w->wanted, w->count,
			    again ? "wrong again" : "right when repeated");
	s->with = xcalloc(3, sizeof(*s->with));
	s->with[0] = xstrdup(t->devices[w->from].subject);
	s->with[1] = xstrdup(t->devices[w->rank].subject);
}

/* Once with data of that seed: 1 when it was compared, 0 when the operation did not end. */
static int compare(struct all_to_all *t, uint64_t bytes, uint64_t seed, struct coll_wrong *ret,
		   struct err *err)
{
	const struct coll_op op = { COLL_ALL_TO_ALL, bytes };
	int r = coll_fill(t->coll, &op, seed, err);

	if (r == 0)
		r = nccl_coll_blot(t->coll, bytes, err);
	if (r < 0)
		return r;
	if (!all_to_all_once(t, "all_to_all.correct", bytes))
		return 0;
	r = coll_check(t->coll, &op, seed, ret, err);
	return r < 0 ? r : 1;
}

int all_to_all_verify(struct all_to_all *t)
{
	uint64_t bytes = whole(t, MIN(t->bytes, (uint64_t)ALL_TO_ALL_CHECK_BYTES));
	struct coll_wrong wrong = { 0 }, again = { 0 };
	struct err err = ERR_INIT;
	struct sample s;
	int r = compare(t, bytes, t->plan->seed, &wrong, &err);

	if (r > 0 && wrong.count)
		r = compare(t, bytes, ~t->plan->seed, &again, &err);
	if (r > 0 && nccl_coll_spread(t->coll, bytes, &err) < 0)
		r = -EIO;
	if (r < 0) {
		t->over = true;
		return all_to_all_tell_failure(t, r, err.msg);
	}
	if (r == 0)
		return 0;
	s = all_to_all_sample(t, "all_to_all.correct", ALL_TO_ALL_SUBJECT, bytes);
	free(s.unit);
	s.unit = xstrdup("1");
	s.better = BETTER_LOWER;
	s.value = (double)wrong.count;
	s.n = bytes / sizeof(float) * t->n;
	s.ok = TRI_YES;
	if (wrong.count) {
		note_wrong(t, &s, &wrong, again.count > 0);
		(void)snprintf(t->suspect, sizeof(t->suspect), "data was wrong");
	}
	return all_to_all_emit(t, &s);
}

/* --- rates --- */

/* 0 and the sample without its place; 1 when an operation did not end. */
static int measure(struct all_to_all *t, uint64_t bytes, struct sample *ret)
{
	const struct coll_op op = { COLL_ALL_TO_ALL, bytes };
	double rates[ALL_TO_ALL_WINDOWS], seconds = 0, first_us;
	unsigned i;

	*ret = all_to_all_sample(t, "all_to_all.busbw", ALL_TO_ALL_SUBJECT, bytes);
	nccl_coll_repeat(t->coll, 1);
	for (i = 0; i < WARM_UPS; i++) {
		if (!all_to_all_once(t, ret->check, bytes))
			return 1;
		seconds = coll_seconds(t->coll);
	}
	if (seconds > 0)
		nccl_coll_repeat(t->coll, (unsigned)MIN(WINDOW_US * 1e-6 / seconds + 1,
							(double)NCCL_REPEAT_MAX));
	first_us = (double)now_us(t);
	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		if (!all_to_all_once(t, ret->check, bytes))
			return 1;
		rates[i] = coll_busbw(&op, t->n, coll_seconds(t->coll));
	}
	nccl_coll_repeat(t->coll, 1);
	sample_set_windows(ret, rates, ARRAY_SIZE(rates));
	ret->start = (first_us + (double)t->plan->epoch_us) * 1e-6;
	ret->seconds = ((double)now_us(t) - first_us) * 1e-6;
	return 0;
}

static void note_total(struct all_to_all *t)
{
	struct all_to_all_plan *plan = t->plan;
	double value = t->total.value;

	if (t->busy[0])
		t->total.note = xasprintf("measured although %s", t->busy);
	if (value < suspect_part * plan->known && !t->suspect[0])
		(void)snprintf(t->suspect, sizeof(t->suspect), "it did %.1f GB/s here before",
			       plan->known * 1e-9);
	if (!(plan->known >= value))
		plan->known = value;
}

int all_to_all_rate(struct all_to_all *t)
{
	uint64_t bytes = ALL_TO_ALL_SIZE_MIN;
	int r = 0;

	for (; r == 0 && bytes < t->bytes; bytes *= SIZE_STEP) {
		struct sample s;

		if (measure(t, whole(t, bytes), &s) == 0) {
			free(s.check);
			s.check = xstrdup("all_to_all.size_bw");
			free(s.subject);
			s.subject = xasprintf(ALL_TO_ALL_SUBJECT "@%" PRIu64 "KiB", bytes >> 10);
			s.better = BETTER_NONE; /* much of it is what a launch takes */
			r = all_to_all_emit(t, &s);
		}
		sample_release(&s);
		if (t->over)
			return r;
	}
	if (r == 0 && measure(t, t->bytes, &t->total) == 0)
		note_total(t);
	return r;
}
