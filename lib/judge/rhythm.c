/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/rhythm.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/judge/stats.h"

/* A peak this close to the highest is as good; the earliest of these is the period. */
#define AS_GOOD 0.9

enum { SPLIT_LEAST = 4 }; /* periods on each side of a change */

/* The rate at equal intervals. */
struct series {
	double *rate; /* owned */
	size_t n;
	double step_s;
};

/* What was counted between two samples; a counter that was reset counts from 0. */
static double moved(const struct rhythm_sample *from, const struct rhythm_sample *to)
{
	return to->total >= from->total ? (double)(to->total - from->total) : (double)to->total;
}

static int check(const struct rhythm_sample *samples, size_t n)
{
	size_t i;

	if (n > RHYTHM_SAMPLES_MAX)
		return -EINVAL;
	if (n < RHYTHM_SAMPLES_LEAST)
		return -ENODATA;
	for (i = 1; i < n; i++) {
		if (samples[i].at_us <= samples[i - 1].at_us)
			return -EINVAL;
	}
	return 0;
}

/* Spreads what was counted evenly over the time between two samples. */
static int series_make(const struct rhythm_sample *samples, size_t n, struct series *ret)
{
	const double from_us = (double)samples[0].at_us;
	const double all_us = (double)(samples[n - 1].at_us - samples[0].at_us);
	const size_t points = MIN(n - 1, (size_t)RHYTHM_GRID_MAX);
	const double step_us = all_us / (double)points;
	size_t i, j;

	ret->rate = calloc(points, sizeof(*ret->rate));
	if (!ret->rate)
		return -ENOMEM;
	ret->n = points;
	ret->step_s = step_us / USEC_PER_SEC;
	for (i = 1; i < n; i++) {
		const double begin = ((double)samples[i - 1].at_us - from_us) / step_us;
		const double end = ((double)samples[i].at_us - from_us) / step_us;
		const double part = moved(&samples[i - 1], &samples[i]) / (end - begin);

		for (j = (size_t)begin; j < points && (double)j < end; j++)
			ret->rate[j] += part * (fmin(end, (double)j + 1) - fmax(begin, (double)j));
	}
	for (j = 0; j < points; j++)
		ret->rate[j] /= ret->step_s;
	return 0;
}

/* --- stops --- */

static double mean_of(const double *values, size_t n)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += values[i];
	return n ? sum / (double)n : 0;
}

/* Number of points up to the last one in which it moved. */
static size_t moving_points(const struct series *s)
{
	const double quiet = RHYTHM_QUIET * mean_of(s->rate, s->n);
	size_t n = s->n;

	while (n > 0 && s->rate[n - 1] <= quiet)
		n--;
	return n;
}

/* --- the period --- */

/* Autocorrelation of `n` points at lags 0 to `most`, each over the points it has; ret[0] is 1. */
static void correlate(const double *rate, size_t n, size_t most, double *ret)
{
	const double mean = mean_of(rate, n);
	double variance = 0;
	size_t lag, i;

	for (i = 0; i < n; i++)
		variance += (rate[i] - mean) * (rate[i] - mean);
	variance /= (double)n;
	for (lag = 0; lag <= most; lag++) {
		double sum = 0;

		for (i = 0; i + lag < n; i++)
			sum += (rate[i] - mean) * (rate[i + lag] - mean);
		ret[lag] = variance > 0 ? sum / (double)(n - lag) / variance : 0;
	}
}

static bool is_peak(const double *acf, size_t most, size_t lag)
{
	return lag > 0 && lag < most && acf[lag] >= acf[lag - 1] && acf[lag] > acf[lag + 1];
}

/* The maximum of a parabola through a peak and its neighbours. */
static double peak_at(const double *acf, size_t lag)
{
	const double bend = acf[lag - 1] - 2 * acf[lag] + acf[lag + 1];

	return bend < 0 ? (double)lag + 0.5 * (acf[lag - 1] - acf[lag + 1]) / bend : (double)lag;
}

/* The highest value near a lag, which need not be a whole number of points. */
static double highest_near(const double *acf, size_t most, size_t lag, size_t reach)
{
	double high = -1;
	size_t i;

	for (i = lag > reach ? lag - reach : 0; i <= MIN(most, lag + reach); i++)
		high = fmax(high, acf[i]);
	return high;
}

static void find_period(const double *acf, size_t n, size_t most, double step_s, struct rhythm *ret)
{
	double memory = 1, high = 0, least;
	size_t zero = 1, lag;

	while (zero <= most && acf[zero] > 0) {
		memory += 2 * acf[zero] * acf[zero];
		zero++;
	}
	least = fmax(RHYTHM_STRENGTH_LEAST, RHYTHM_SIGMAS * sqrt(memory / (double)n));
	for (lag = zero; lag < most; lag++) {
		if (is_peak(acf, most, lag))
			high = fmax(high, acf[lag]);
	}
	if (high < least)
		return;
	for (lag = zero; lag < most && !(is_peak(acf, most, lag) && acf[lag] >= AS_GOOD * high);
	     lag++)
		;
	if (2 * lag <= most && highest_near(acf, most, 2 * lag, 1 + lag / 20) < 0.5 * acf[lag])
		return;
	ret->period_s = peak_at(acf, lag) * step_s;
	ret->strength = fmin(1, acf[lag]);
}

static int look_for_period(const struct series *s, size_t n, struct rhythm *ret)
{
	const size_t most = (size_t)((double)n / RHYTHM_PERIODS_LEAST);
	double *acf = most > 1 ? calloc(most + 1, sizeof(*acf)) : NULL;

	if (most <= 1)
		return 0;
	if (!acf)
		return -ENOMEM;
	correlate(s->rate, n, most, acf);
	find_period(acf, n, most, s->step_s, ret);
	free(acf);
	return 0;
}

/* --- changes of the level --- */

/* The part of the variance of the `n` levels that remains when they are split at `at`. */
static double left_of_split(const double *level, size_t n, size_t at)
{
	const double before = mean_of(level, at), after = mean_of(level + at, n - at);
	double sum = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		const double d = level[i] - (i < at ? before : after);

		sum += d * d;
	}
	return sum;
}

static void find_change(const double *level, size_t n, double level_s, struct rhythm *ret)
{
	const double all = left_of_split(level, n, n);
	double best = all;
	size_t at = 0, i;

	for (i = SPLIT_LEAST; i + SPLIT_LEAST <= n; i++) {
		const double left = left_of_split(level, n, i);

		if (left < best) {
			best = left;
			at = i;
		}
	}
	if (!at || mean_of(level, at) <= 0)
		return;
	/* Two more parameters (the position and the second level) must pay for themselves. */
	if (best > 0 && (double)n * log(all / best) < 2 * RHYTHM_SPLIT_FACTOR * log((double)n))
		return;
	ret->change = mean_of(level + at, n - at) / mean_of(level, at);
	if (fabs(ret->change - 1) < RHYTHM_CHANGE_LEAST)
		ret->change = NAN;
	else
		ret->changed_s = (double)(n - at) * level_s + ret->still_s;
}

/* Means of whole periods, aligned so that the last one ends with the last movement. */
static int look_for_change(const struct series *s, size_t moving, struct rhythm *ret)
{
	const double points = ret->period_s / s->step_s;
	const size_t n = (size_t)((double)moving / points);
	double *level;
	size_t i;

	if (n < 2 * SPLIT_LEAST)
		return 0;
	level = calloc(n, sizeof(*level));
	if (!level)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		const double end = (double)moving - (double)(n - 1 - i) * points;
		const size_t from = (size_t)fmax(0, round(end - points)), to = (size_t)round(end);

		level[i] = mean_of(s->rate + from, MAX(to, from + 1) - from);
	}
	find_change(level, n, ret->period_s, ret);
	free(level);
	return 0;
}

int rhythm_of(const struct rhythm_sample *samples, size_t n, struct rhythm *ret)
{
	struct rhythm found = { .period_s = NAN, .changed_s = NAN, .change = NAN };
	struct series s = { 0 };
	size_t moving;
	int r = check(samples, n);

	if (r == 0)
		r = series_make(samples, n, &s);
	if (r < 0)
		return r;
	moving = moving_points(&s);
	found.seen_s = (double)s.n * s.step_s;
	found.still_s = (double)(s.n - moving) * s.step_s;
	found.rate = mean_of(s.rate, moving);
	r = look_for_period(&s, moving, &found);
	if (r == 0 && !isnan(found.period_s))
		r = look_for_change(&s, moving, &found);
	found.stopped =
		found.still_s >=
		(isnan(found.period_s) ? RHYTHM_STOP_S : RHYTHM_STOP_PERIODS * found.period_s);
	free(s.rate);
	if (r == 0)
		*ret = found;
	return r;
}

/* --- comparison of hosts --- */

struct crowd {
	double period_s, bytes, still_s; /* medians (NAN); the second longest stillness */
	size_t n_stopped, n;
};

/* Sorts them. */
static double middle(double *values, size_t n)
{
	stats_sort(values, n);
	return stats_median(values, n);
}

static void look_at_all(const struct rhythm *hosts, size_t n, double *room, struct crowd *ret)
{
	double longest = 0;
	size_t i, k = 0;

	*ret = (struct crowd){ .period_s = NAN, .bytes = NAN, .n = n };
	for (i = 0; i < n; i++) {
		ret->n_stopped += hosts[i].stopped;
		if (!isnan(hosts[i].period_s))
			room[k++] = hosts[i].period_s;
	}
	if (k >= RHYTHM_HOSTS_LEAST)
		ret->period_s = middle(room, k);
	for (i = k = 0; i < n; i++) {
		if (!isnan(hosts[i].period_s))
			room[k++] = hosts[i].rate * hosts[i].period_s;
	}
	if (k >= RHYTHM_HOSTS_LEAST)
		ret->bytes = middle(room, k);
	for (i = 0; i < n; i++) {
		if (hosts[i].still_s > longest) {
			ret->still_s = longest;
			longest = hosts[i].still_s;
		} else {
			ret->still_s = fmax(ret->still_s, hosts[i].still_s);
		}
	}
}

static unsigned stops_of(const struct rhythm *host, const struct crowd *all)
{
	const double period = isnan(all->period_s) ? RHYTHM_STOP_S : all->period_s;

	if (host->stopped && 2 * all->n_stopped < all->n)
		return RHYTHM_STOPPED_ALONE;
	if (!host->stopped && 2 * all->n_stopped > all->n)
		return RHYTHM_MOVES_ALONE;
	if (all->n_stopped == all->n && host->still_s > all->still_s + period)
		return RHYTHM_STOPPED_FIRST;
	return 0;
}

void rhythm_peers(const struct rhythm *hosts, size_t n, unsigned *ret)
{
	double *room = n >= RHYTHM_HOSTS_LEAST ? calloc(n, sizeof(*room)) : NULL;
	struct crowd all;
	size_t i;

	for (i = 0; i < n; i++)
		ret[i] = 0;
	if (!room)
		return;
	look_at_all(hosts, n, room, &all);
	for (i = 0; i < n; i++) {
		const struct rhythm *host = &hosts[i];
		const double sent = host->rate * host->period_s; /* NAN without a period */

		ret[i] = stops_of(host, &all);
		if (fabs(host->period_s - all.period_s) > RHYTHM_PERIOD_DIFFERS * all.period_s)
			ret[i] |= RHYTHM_OTHER_PERIOD;
		else if (sent < (1 - RHYTHM_RATE_DIFFERS) * all.bytes)
			ret[i] |= RHYTHM_SENDS_LESS;
		else if (sent > (1 + RHYTHM_RATE_DIFFERS) * all.bytes)
			ret[i] |= RHYTHM_SENDS_MORE;
	}
	free(room);
}
