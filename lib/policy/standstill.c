/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/standstill.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"

enum { WORDS_SIZE = 24 };

/* The standard error of a median of normal values is sqrt(pi / 2) times that of their mean. */
#define MEDIAN_ERROR 1.2533

/* Usual times are known to some percent: over more steps than this, that hides a pause. */
#define COUNTED_S 180.0

const char *const standstill_state_names[STANDSTILL_STATES] = {
	[STANDSTILL_RUNNING] = "running",    [STANDSTILL_GROWING] = "growing",
	[STANDSTILL_STILL] = "stands still", [STANDSTILL_ENDED] = "ended",
	[STANDSTILL_UNKNOWN] = "unknown",
};

/* --- a beat comes --- */

static int check_values(const struct standstill_beat *beat, struct err *err)
{
	size_t i;

	if (beat->step > STANDSTILL_STEP_MAX)
		return err_set(err, EINVAL, "step: expected a number of at most %" PRIu64,
			       STANDSTILL_STEP_MAX);
	if (!(beat->age_s >= 0) || beat->age_s > STANDSTILL_AGE_MAX_S)
		return err_set(err, EINVAL,
			       "age: expected the seconds since the step ended, of at "
			       "most 7 days");
	if (beat->n > STANDSTILL_BLOCK)
		return err_set(err, EINVAL, "seconds: expected the durations of at most %d steps",
			       STANDSTILL_BLOCK);
	for (i = 0; i < beat->n; i++) {
		if (!(beat->seconds[i] > 0) || beat->seconds[i] > STANDSTILL_SECONDS_MAX)
			return err_set(
				err, EINVAL,
				"seconds[%zu]: expected the duration of a step, more than 0 and "
				"at most %.0f",
				i, STANDSTILL_SECONDS_MAX);
	}
	return 0;
}

int standstill_check(const struct standstill *s, const struct standstill_beat *beat, struct err *err)
{
	int r = check_values(beat, err);

	if (r < 0 || s->heard_us == 0)
		return r;
	if (beat->run < s->run)
		return err_set(err, EEXIST, "run %" PRId64 " has started: run %" PRId64 " is over",
			       s->run, beat->run);
	if (beat->run == s->run && beat->step < s->step)
		return err_set(err, EEXIST,
			       "step %" PRIu64 " of run %" PRId64
			       " has been reported, and steps never go back within a run: a "
			       "restart needs run %" PRId64,
			       s->step, s->run, s->run + 1);
	return 0;
}

static void add_duration(struct standstill *s, double seconds)
{
	s->seconds[s->n % STANDSTILL_BLOCK] = (float)seconds;
	if (s->n >= STANDSTILL_KNOWN)
		s->pause_s = fmax(s->pause_s, fmin(seconds, STANDSTILL_PAUSE_MAX_S));
	/* Above the values that are compared, the count only serves as a ring index. */
	s->n = s->n == UINT32_MAX ? UINT32_MAX - STANDSTILL_BLOCK + 1 : s->n + 1;
}

/* Measures the usual step of the last block, and once of the first. */
static void measure(struct standstill *s)
{
	const size_t n = MIN(s->n, (uint32_t)STANDSTILL_BLOCK);
	double sorted[STANDSTILL_BLOCK];
	size_t i;

	if (n < STANDSTILL_KNOWN)
		return;
	for (i = 0; i < n; i++)
		sorted[i] = (double)s->seconds[i];
	stats_sort(sorted, n);
	s->step_s = stats_median(sorted, n);
	s->spread_s = stats_sigma_of_mad(stats_mad(sorted, n, s->step_s));
	if (s->first_s > 0 || s->n < STANDSTILL_WARM + STANDSTILL_BLOCK)
		return;
	s->first_s = s->step_s;
	s->first_spread_s = s->spread_s;
}

/* Adds the steps since the previous heartbeat: their durations, and the longest pause. */
static void add_steps(struct standstill *s, const struct standstill_beat *beat, uint64_t ended_us)
{
	const uint64_t steps = beat->step - s->step;
	const double took_s = (double)(ended_us - s->advanced_us) / USEC_PER_SEC;
	size_t n = MIN(beat->n, steps), i;

	if (s->step_s > 0 && (double)steps * s->step_s <= COUNTED_S)
		s->pause_s = fmax(s->pause_s, fmin(took_s - (double)(steps - 1) * s->step_s,
						   STANDSTILL_PAUSE_MAX_S));
	for (i = beat->n - n; i < beat->n; i++)
		add_duration(s, beat->seconds[i]);
	if (n == 0 && took_s > 0)
		add_duration(s, MIN(took_s / (double)steps, STANDSTILL_SECONDS_MAX));
}

static void begin(struct standstill *s, const struct standstill_beat *beat, uint64_t now_us)
{
	const double pause_s = s->pause_s;
	size_t i;

	*s = (struct standstill){ .run = beat->run, .since_us = now_us, .pause_s = pause_s };
	for (i = 0; i < beat->n; i++)
		add_duration(s, beat->seconds[i]);
}

void standstill_take(struct standstill *s, const struct standstill_beat *beat, uint64_t now_us)
{
	const uint64_t age_us = (uint64_t)(beat->age_s * USEC_PER_SEC);
	uint64_t ended_us = now_us - MIN(now_us, age_us);

	if (s->heard_us == 0 || beat->run != s->run) {
		begin(s, beat, now_us);
		s->advanced_us = ended_us;
	} else if (beat->step > s->step) {
		/* According to an earlier heartbeat, the step cannot have ended before that. */
		ended_us = MAX(ended_us, s->advanced_us);
		add_steps(s, beat, ended_us);
		s->advanced_us = ended_us;
		s->since_us = MAX(s->since_us, ended_us);
	}
	s->step = beat->step;
	s->heard_us = now_us;
	s->lived_us = 0;
	s->done = beat->done;
	s->restored = false;
	measure(s);
}

void standstill_renew(struct standstill *s, uint64_t now_us)
{
	s->since_us = now_us;
	s->lived_us = 0;
}

void standstill_restore(struct standstill *s, const struct standstill *kept, uint64_t now_us)
{
	*s = (struct standstill){
		.run = kept->run,
		.step = kept->step,
		.advanced_us = MIN(kept->advanced_us, now_us),
		.since_us = now_us,
		.heard_us = now_us,
		.step_s = kept->step_s,
		.spread_s = kept->spread_s,
		.first_s = kept->first_s,
		.first_spread_s = kept->first_spread_s,
		.pause_s = kept->pause_s,
		.restored = true,
	};
}

/* --- the state --- */

static uint64_t limit_of(const struct standstill *s)
{
	double seconds = (double)STANDSTILL_FLOOR_US / USEC_PER_SEC;

	if (!(s->step_s > 0))
		return STANDSTILL_START_US;
	seconds = fmax(seconds + STANDSTILL_FACTOR * s->step_s, STANDSTILL_PAUSES * s->pause_s);
	return (uint64_t)(seconds * USEC_PER_SEC);
}

static uint64_t since(uint64_t from_us, uint64_t now_us)
{
	return now_us - MIN(now_us, from_us);
}

static bool has_ceased(const struct standstill *s, uint64_t now_us)
{
	return since(MAX(s->heard_us, s->since_us), now_us) > STANDSTILL_CEASED_US;
}

bool standstill_asks(const struct standstill *s, uint64_t now_us)
{
	return !s->done && (has_ceased(s, now_us) || since(s->since_us, now_us) >= limit_of(s));
}

/* How many times as long as at first, with its interval. */
static void compare(const struct standstill *s, struct standstill_found *ret)
{
	const double error = STANDSTILL_SIGMAS * MEDIAN_ERROR / sqrt(STANDSTILL_BLOCK);
	const double now_s = error * s->spread_s, first_s = error * s->first_spread_s;

	if (!(s->first_s > 0) || s->n < STANDSTILL_BLOCK)
		return;
	ret->grown = s->step_s / s->first_s;
	ret->grown_low = fmax(s->step_s - now_s, 0) / (s->first_s + first_s);
	ret->grown_high = s->first_s > first_s ? (s->step_s + now_s) / (s->first_s - first_s)
					       : INFINITY;
}

static enum standstill_state state_of(const struct standstill *s, enum standstill_ranks ranks,
				      const struct standstill_found *found, uint64_t now_us)
{
	const bool quiet = found->quiet_us >= found->limit_us;

	if (s->done || (ranks == STANDSTILL_RANKS_GONE && (found->ceased || quiet)))
		return STANDSTILL_ENDED;
	if (!quiet && s->restored)
		return STANDSTILL_UNKNOWN;
	if (!quiet)
		return found->grown >= STANDSTILL_GROWN && found->grown_low > 1
			       ? STANDSTILL_GROWING
			       : STANDSTILL_RUNNING;
	if (!found->ceased || (s->lived_us > 0 && since(s->lived_us, now_us) >= STANDSTILL_GRACE_US))
		return STANDSTILL_STILL;
	return STANDSTILL_UNKNOWN;
}

struct standstill_found standstill_judge(struct standstill *s, enum standstill_ranks ranks,
					 uint64_t now_us)
{
	struct standstill_found found = {
		.step = s->step,
		.quiet_us = since(s->since_us, now_us),
		.limit_us = limit_of(s),
		.step_s = s->step_s,
		.restored = s->restored,
		.ceased = has_ceased(s, now_us),
	};

	if (ranks != STANDSTILL_RANKS_LIVE)
		s->lived_us = 0;
	else if (s->lived_us == 0)
		s->lived_us = now_us;
	compare(s, &found);
	found.state = state_of(s, ranks, &found, now_us);
	return found;
}

/* --- words --- */

/* "45s", "14m", "3h", rounded down. */
static const char *time_words(uint64_t us, char text[static WORDS_SIZE])
{
	if (us < 2 * USEC_PER_MIN)
		(void)snprintf(text, WORDS_SIZE, "%" PRIu64 "s", us / USEC_PER_SEC);
	else if (us < 2 * USEC_PER_HOUR)
		(void)snprintf(text, WORDS_SIZE, "%" PRIu64 "m", us / USEC_PER_MIN);
	else
		(void)snprintf(text, WORDS_SIZE, "%" PRIu64 "h", us / USEC_PER_HOUR);
	return text;
}

/* "0.25", "8.3", "128". */
static const char *step_words(double seconds, char text[static WORDS_SIZE])
{
	(void)snprintf(text, WORDS_SIZE, seconds < 10 ? "%.2g" : "%.0f", seconds);
	return text;
}

char *standstill_words(const struct standstill_found *found)
{
	char quiet[WORDS_SIZE], step[WORDS_SIZE];
	const bool known = found->step_s > 0;

	(void)time_words(found->quiet_us, quiet);
	(void)step_words(found->step_s, step);
	switch (found->state) {
	case STANDSTILL_STILL:
		return xasprintf("no step for %s%s%s%s: step %" PRIu64 "%s", quiet,
				 known ? "; its steps took " : "", known ? step : "",
				 known ? " s" : "", found->step,
				 found->ceased ? "; no beats arrive, but its ranks are running"
					       : "");
	case STANDSTILL_UNKNOWN:
		if (found->restored && !found->ceased)
			return xasprintf(
				"no beat has arrived since the controller started: step %" PRIu64,
				found->step);
		return xasprintf("no step for %s, no beats arrive, and no agent says whether its "
				 "ranks are running: step %" PRIu64,
				 quiet, found->step);
	case STANDSTILL_ENDED:
		return xasprintf("it has ended: step %" PRIu64, found->step);
	case STANDSTILL_GROWING:
		return xasprintf("its steps take %s s, %.2f times [%.2f, %.2f] what they took at "
				 "first: step %" PRIu64,
				 step, found->grown, found->grown_low, found->grown_high,
				 found->step);
	default:
		return xasprintf("step %" PRIu64 "%s%s%s", found->step, known ? ", " : "",
				 known ? step : "", known ? " s a step" : "");
	}
}
