/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/all_to_all/all_to_all_rate.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "probes/accel/watch.h"
#include "probes/all_to_all/all_to_all.h"
#include "probes/coll/coll_data.h"

enum {
	ONCE_US = 5000000, /* limit for one operation, or for COLL_REPEAT_MAX of them */
	WINDOW_US = 5000,  /* of a sub-window: as many operations as fit */
	WARM_UPS = 5,
	SIZE_STEP = 16, /* factor from one size to the next */
	ONCE_PARTS = 4, /* divisor of the budget: limit for one operation */
	NSEC_PER_USEC = 1000,
};

/* Below this part of the best rate measured here, pairs are measured as well. */
static const double suspect_part = 0.95;

static uint64_t now_us(const struct all_to_all *t)
{
	return t->coll->ops->now_ns(t->coll) / NSEC_PER_USEC;
}

static const struct coll_whole_ops *whole_of(const struct all_to_all *t)
{
	return t->coll->ops->whole;
}

/* Round to a multiple of 16 bytes per rank, which NCCL moves fastest. */
static uint64_t whole(const struct all_to_all *t, uint64_t bytes)
{
	return MAX(bytes / (16 * t->n), (uint64_t)1) * 16 * t->n;
}

/* The limit for one operation, so that the end of the budget never looks like a hang. */
static uint64_t once_us(const struct all_to_all *t)
{
	const struct all_to_all_plan *plan = t->plan;

	return MIN((uint64_t)ONCE_US, (plan->deadline_us - plan->begin_us) / ONCE_PARTS);
}

static void tell_end(struct all_to_all *t, const char *check, uint64_t bytes, int failed)
{
	const struct coll_result *result = &t->coll->result;
	const struct all_to_all_end *end =
		result->suspect == COLL_NOBODY ? NULL : &t->ends[result->suspect];
	const char *subject = end ? end->subject : t->plan->kind->all;
	struct sample s = all_to_all_sample(t, check, subject, bytes);
	CLEANUP(freep) char *why = NULL;

	if (failed == -ETIMEDOUT)
		why = xasprintf("an all-to-all of %" PRIu64 " bytes did not finish in %.3g s: %s",
				bytes, (double)once_us(t) / USEC_PER_SEC, result->why);
	else if (end && end->pci[0] && !strstr(result->why, end->pci))
		why = xasprintf("%s (%s)", result->why, end->pci);
	accel_failure_fill(&s, subject, failed, why ? why : result->why);
	if (result->suspects && result->suspect == COLL_NOBODY)
		s.with = all_to_all_subjects(t, result->suspects);
	if (failed == -EPROTO) {
		s.state = SAMPLE_MEASURED;
		s.ok = TRI_NO;
		s.severity = SEVERITY_WARN;
		s.code = xstrdup("nccl-error");
	}
	if (t->plan->kind->end)
		t->plan->kind->end(t, &s);
	(void)all_to_all_emit(t, &s);
}

static bool has_time(struct all_to_all *t, const char *check, uint64_t bytes)
{
	struct sample s;

	if (now_us(t) + once_us(t) <= t->plan->deadline_us)
		return true;
	s = all_to_all_sample(t, check, t->plan->kind->all, bytes);
	s.state = SAMPLE_TIMEOUT;
	s.note = xstrdup("no time left in the budget for this");
	(void)all_to_all_emit(t, &s);
	return false;
}

bool all_to_all_once(struct all_to_all *t, const char *check, uint64_t bytes)
{
	const struct coll_op op = { COLL_ALL_TO_ALL, bytes };
	struct err err = ERR_INIT;
	int r;

	t->over = t->over || !has_time(t, check, bytes);
	if (t->over)
		return false;
	r = coll_run(t->coll, &op, now_us(t) + once_us(t), NULL, &err);
	if (r == 0 && t->coll->result.state == COLL_DONE)
		return true;
	t->over = true;
	if (r < 0)
		(void)all_to_all_tell_failure(t, r, err.msg);
	else
		tell_end(t, check, bytes,
			 t->coll->result.state == COLL_LATE ? -ETIMEDOUT
							    : whole_of(t)->error(t->coll));
	return false;
}

/* --- data --- */

static const char wrong_again[] = "wrong again";

static void note_wrong(const struct all_to_all *t, struct sample *s, const struct coll_wrong *w,
		       bool again, const char *words)
{
	s->ok = TRI_NO;
	s->code = xstrdup("wrong-data");
	s->severity = again ? SEVERITY_FATAL : SEVERITY_WARN;
	s->note = xasprintf("what %s sent to %s: element %" PRIu64
			    " is %.9g instead of %.9g, %" PRIu64 " wrong; %s",
			    t->ends[w->from].subject, t->ends[w->rank].subject, w->at,
			    (double)w->is, (double)w->wanted, w->count, words);
	s->with = xcalloc(3, sizeof(*s->with));
	s->with[0] = xstrdup(t->ends[w->from].subject);
	s->with[1] = xstrdup(t->ends[w->rank].subject);
}

/*
 * Run once with data of that seed. Returns 1 if it was compared, 0 if the operation did not end,
 * which is emitted as `check`.
 */
static int compare(struct all_to_all *t, const char *check, uint64_t bytes, uint64_t seed,
		   struct coll_wrong *ret, struct err *err)
{
	const struct coll_op op = { COLL_ALL_TO_ALL, bytes };
	int r = coll_fill(t->coll, &op, seed, err);

	if (r == 0)
		r = whole_of(t)->blot(t->coll, bytes, err);
	if (r < 0)
		return r;
	if (!all_to_all_once(t, check, bytes))
		return 0;
	r = coll_check(t->coll, &op, seed, ret, err);
	return r < 0 ? r : 1;
}

static int emit_correct(struct all_to_all *t, uint64_t bytes, const struct coll_wrong *wrong,
			const char *again)
{
	struct sample s = all_to_all_sample(t, t->plan->kind->correct, t->plan->kind->all, bytes);

	free(s.unit);
	s.unit = xstrdup("1");
	s.better = BETTER_LOWER;
	s.value = (double)wrong->count;
	s.n = bytes / sizeof(float) * t->n;
	s.ok = TRI_YES;
	if (wrong->count) {
		note_wrong(t, &s, wrong, streq(again, wrong_again), again);
		(void)snprintf(t->suspect, sizeof(t->suspect), "data was wrong");
	}
	return all_to_all_emit(t, &s);
}

/* Wrong data is reported even if a second try is right. */
int all_to_all_verify(struct all_to_all *t)
{
	uint64_t bytes = whole(t, MIN(t->bytes, (uint64_t)ALL_TO_ALL_CHECK_BYTES));
	struct coll_wrong wrong = { 0 }, again = { 0 };
	struct err err = ERR_INIT;
	int r = compare(t, t->plan->kind->correct, bytes, t->plan->seed, &wrong, &err), told = 0;

	if (r > 0 && wrong.count)
		r = compare(t, t->plan->kind->busbw, bytes, ~t->plan->seed, &again, &err);
	if (r > 0 && whole_of(t)->spread(t->coll, bytes, &err) < 0)
		r = -EIO;
	if (r < 0) {
		t->over = true;
		told = all_to_all_tell_failure(t, r, err.msg);
	}
	if (told < 0 || (r <= 0 && !wrong.count))
		return told;
	return emit_correct(t, bytes, &wrong,
			    again.count ? wrong_again
			    : r > 0	? "right when repeated"
					: "the result of repeating it is unknown");
}

/* --- rates --- */

/* The time of one operation: that of the slowest end. */
static double all_seconds(const struct all_to_all *t)
{
	double most = 0;
	unsigned i;

	for (i = 0; i < t->n; i++)
		most = MAX(most, whole_of(t)->seconds(t->coll, i));
	return most;
}

/* Returns 0 with the sample, without its place, or 1 if an operation did not end. */
static int measure(struct all_to_all *t, uint64_t bytes, struct sample *ret)
{
	const struct coll_op op = { COLL_ALL_TO_ALL, bytes };
	double rates[ALL_TO_ALL_WINDOWS], seconds = 0, first_us;
	unsigned i;

	*ret = all_to_all_sample(t, t->plan->kind->busbw, t->plan->kind->all, bytes);
	coll_repeat(t->coll, 1);
	for (i = 0; i < WARM_UPS; i++) {
		if (!all_to_all_once(t, ret->check, bytes))
			return 1;
		seconds = all_seconds(t);
	}
	if (seconds > 0)
		coll_repeat(t->coll,
			    (unsigned)MIN(WINDOW_US * 1e-6 / seconds + 1, (double)COLL_REPEAT_MAX));
	if (t->plan->kind->begin)
		t->plan->kind->begin(t);
	first_us = (double)now_us(t);
	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		if (!all_to_all_once(t, ret->check, bytes))
			return 1;
		rates[i] = coll_busbw(&op, t->n, all_seconds(t));
	}
	coll_repeat(t->coll, 1);
	sample_set_windows(ret, rates, ARRAY_SIZE(rates));
	ret->start = (first_us + (double)t->plan->epoch_us) * 1e-6;
	ret->seconds = ((double)now_us(t) - first_us) * 1e-6;
	if (t->plan->kind->end)
		t->plan->kind->end(t, ret);
	return 0;
}

static void note_total(struct all_to_all *t)
{
	struct all_to_all_plan *plan = t->plan;
	double value = t->total.value;

	if (t->total.state != SAMPLE_MEASURED)
		return;
	if (t->busy[0])
		t->total.note = xasprintf("measured although %s", t->busy);
	if (value < suspect_part * plan->known && !t->suspect[0])
		(void)snprintf(t->suspect, sizeof(t->suspect), "it reached %.1f GB/s here before",
			       plan->known * 1e-9);
	if (!(plan->known >= value))
		plan->known = value;
}

int all_to_all_rate(struct all_to_all *t)
{
	uint64_t bytes = ALL_TO_ALL_SIZE_MIN;
	int r = 0;

	for (; r == 0 && bytes < t->bytes && !all_to_all_gives_way(t); bytes *= SIZE_STEP) {
		struct sample s;

		if (measure(t, whole(t, bytes), &s) == 0) {
			free(s.check);
			s.check = xstrdup(t->plan->kind->size_bw);
			free(s.subject);
			s.subject = xasprintf("%s@%" PRIu64 "KiB", t->plan->kind->all, bytes >> 10);
			s.better = BETTER_NONE; /* dominated by the launch time */
			r = all_to_all_emit(t, &s);
		}
		sample_release(&s);
		if (t->over)
			return r;
	}
	if (r == 0 && all_to_all_gives_way(t)) {
		t->total = all_to_all_sample(t, t->plan->kind->busbw, t->plan->kind->all, t->bytes);
		t->total.state = SAMPLE_BUSY;
		t->total.note = xstrdup(t->busy);
	} else if (r == 0 && measure(t, t->bytes, &t->total) == 0) {
		note_total(t);
	}
	return r;
}
