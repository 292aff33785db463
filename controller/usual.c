/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/usual.h"

#include <math.h>
#include <stdlib.h>

#include "lib/fnv.h"
#include "lib/judge/stats.h"
#include "lib/xalloc.h"

/* The drift follows so many reports, none by more than a good host differs. */
#define DRIFT_REPORTS 32.0
#define DRIFT_STEP_MAX 0.05
/* The fleet moves: half of the least floor of 5 %. A day's swing is less. */
#define MOVED_MIN 0.025

/* The worst parts are followed over so many runs, and one run counts for so much at most. */
enum { TAIL_RUNS = 16, TAIL_RUNS_MIN = 6 };
#define TAIL_STEP_MAX 0.03
/* With their parts they are enough to tell what parts differ by. */
enum { TAIL_HOSTS_MIN = 3 };
/* A host has about so many parts; one, and one more in so many, may be worse than the gap. */
enum { TAIL_PARTS = 8, TAIL_SHARE = 1000 };

/* Of fewer hosts the spread of their levels is not known: it may look half as wide as it is. */
enum { LEVEL_HOSTS_MIN = 10 };

/*
 * The ends of a tail that falls off exponentially lie apart by so much divided by how many are
 * beyond (Renyi), and by three times as much in one case of 28: several are apart from there on.
 */
#define TAIL_TOGETHER 0.15

/* Where the host is, or belongs. */
static size_t place_of(struct usuals *u, const char *node, bool *ret_there)
{
	size_t low = 0, high = u->n;

	*ret_there = u->last < u->n && streq(u->hosts[u->last].node, node);
	if (*ret_there)
		return u->last;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(u->hosts[mid].node, node) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*ret_there = low < u->n && streq(u->hosts[low].node, node);
	u->last = low;
	return low;
}

static struct usual *find(struct usuals *u, const char *node)
{
	bool there = false;
	size_t at = place_of(u, node, &there);

	return there ? &u->hosts[at] : NULL;
}

static struct usual *need(struct usuals *u, const char *node)
{
	bool there = false;
	size_t at = place_of(u, node, &there);

	if (there)
		return &u->hosts[at];
	if (u->n == u->room) {
		u->room = MAX(u->room * 2, (size_t)16);
		u->hosts = xrealloc(u->hosts, u->room, sizeof(*u->hosts));
	}
	memmove(&u->hosts[at + 1], &u->hosts[at], (u->n - at) * sizeof(*u->hosts));
	u->hosts[at] = (struct usual){ .node = xstrdup(node) };
	u->n++;
	return &u->hosts[at];
}

static const struct usual_part *find_part(const struct usual *host, const char *subject)
{
	const uint32_t name = fnv1a(subject, strlen(subject));
	size_t i;

	for (i = 0; i < host->n; i++) {
		if (host->parts[i].name == name)
			return &host->parts[i];
	}
	return NULL;
}

static struct trend *need_part(struct usual *host, const char *subject)
{
	const struct usual_part *there = find_part(host, subject);

	if (there)
		return &host->parts[there - host->parts].trend;
	if (host->n == USUAL_PARTS_MAX)
		return NULL;
	host->parts = xrealloc(host->parts, host->n + 1, sizeof(*host->parts));
	host->parts[host->n] = (struct usual_part){ .name = fnv1a(subject, strlen(subject)) };
	return &host->parts[host->n++].trend;
}

/*
 * What the fleet reaches now, all that it has in common included. Only for judging: what is
 * learnt is held against the fleet alone, or the drift would drift with itself.
 */
static double control_of(const struct usuals *u, double fleet)
{
	return fleet * exp(u->drift);
}

static double center_of_values(const struct usual_value *values, size_t n)
{
	CLEANUP(freep) double *sorted = xcalloc(n + 1, sizeof(*sorted));
	size_t i;

	for (i = 0; i < n; i++)
		sorted[i] = values[i].value;
	return trend_center(sorted, n);
}

/* The median of all but number `i` of `n` values that ascend. */
static double others_of(const struct usual_value *values, size_t n, size_t i)
{
	const size_t m = n - 1, low = (m - 1) / 2, high = m / 2;

	return (values[low + (low >= i)].value + values[high + (high >= i)].value) / 2;
}

/* One more report: where the fleet is, and where it was. */
static void follow(struct usuals *u, double fleet)
{
	const double now = log(fleet), runs = (double)TREND_MAX * (double)MAX(u->n, (size_t)1);

	u->slow = u->slow == 0 ? now : u->slow + (now - u->slow) / runs;
	u->moved = fabs(now - u->slow) > MOVED_MIN;
}

void usuals_learn(struct usuals *u, const char *node, const struct usual_value *values, size_t n,
		  double fleet)
{
	struct usual *host;
	size_t i;

	if (n == 0 || !(values[0].value > 0))
		return;
	host = need(u, node);
	u->changed = true;
	if (isfinite(fleet) && !u->moved) {
		trend_push(&host->whole, center_of_values(values, n) / fleet);
		u->news++;
	}
	for (i = 0; n > REFERENCE_N_MIN && i < n; i++) {
		struct trend *trend = need_part(host, values[i].subject);

		if (trend)
			trend_push(trend, values[i].value / others_of(values, n, i));
	}
}

void usuals_no_tail(struct usuals *u, const char *node)
{
	struct usual *host = find(u, node);

	if (!host || host->tail.runs == 0)
		return;
	host->tail = (struct usual_tail){ 0 };
	u->tails_news = u->n + 1; /* gather anew */
}

void usuals_tail(struct usuals *u, const char *node, double worst, double second)
{
	struct usual_tail *t = &need(u, node)->tail;
	const double share = 1.0 / (t->runs < TAIL_RUNS ? t->runs + 1 : TAIL_RUNS);
	const double most = t->runs < REFERENCE_N_MIN ? INFINITY : TAIL_STEP_MAX;

	t->worst += share * fmax(fmin(worst - t->worst, most), -most);
	t->second += share * fmax(fmin(second - t->second, most), -most);
	t->runs++;
	u->tails_news++;
}

static void note_lowest(struct usuals *u, const struct usual *host)
{
	const struct usual_worst one = { host->node, host->tail.worst };

	if (!u->lowest[0].node || one.worst < u->lowest[0].worst) {
		u->lowest[1] = u->lowest[0];
		u->lowest[0] = one;
	} else if (!u->lowest[1].node || one.worst < u->lowest[1].worst) {
		u->lowest[1] = one;
	}
}

/* The tails of all hosts; kept until 5 % of them are new. */
static void gather_tails(struct usuals *u)
{
	size_t i;

	if (u->tails && u->tails_news <= u->n / 20)
		return;
	u->tails = xrealloc(u->tails, 2 * u->n + 1, sizeof(*u->tails));
	u->n_tails = u->tails_news = 0;
	memset(u->lowest, 0, sizeof(u->lowest));
	for (i = 0; i < u->n; i++) {
		const struct usual_tail *t = &u->hosts[i].tail;

		if (t->runs == 0)
			continue;
		note_lowest(u, &u->hosts[i]);
		u->tails[u->n_tails++] = t->worst;
		u->tails[u->n_tails++] = t->second;
	}
	stats_sort(u->tails, u->n_tails);
}

/* The end of a gap at or above `from` that has few parts below it; NAN: there is none. */
static double gap_above(const struct usuals *u, double from, double width, double *ret_end)
{
	const size_t parts = u->n_tails / 2 * TAIL_PARTS;
	const size_t most = 1 + parts / TAIL_SHARE;
	size_t i;

	for (i = 0; i < most && i + 1 < u->n_tails; i++) {
		if (u->tails[i + 1] <= from)
			continue;
		*ret_end = u->tails[i + 1];
		if (u->tails[i + 1] - fmax(u->tails[i], from) >
		    (i > 0 ? fmax(width, TAIL_TOGETHER / (double)(i + 1)) : width))
			return fmax(u->tails[i], from);
	}
	return NAN;
}

/* The worst part of any other host, as the tails were gathered. */
static double next_of(const struct usuals *u, const char *node)
{
	const struct usual_worst *next = &u->lowest[0];

	if (next->node && streq(next->node, node))
		next = &u->lowest[1];
	return next->node ? next->worst : (double)INFINITY;
}

enum usual_place usuals_place(struct usuals *u, const char *node, double width, double *ret_apart)
{
	struct usual *host = find(u, node);
	double below, above = NAN;

	gather_tails(u);
	if (u->n_tails < 2 * ((size_t)TAIL_HOSTS_MIN + (host && host->tail.runs > 0)))
		return PLACE_UNKNOWN;
	if (!host || host->tail.runs == 0)
		return PLACE_AMONG;
	if (host->tail.runs < TAIL_RUNS_MIN) {
		*ret_apart = fmin(next_of(u, node), host->tail.second) - width;
		return PLACE_EARLY;
	}
	below = gap_above(u, host->tail.worst,
			  host->tail.apart ? fmin(width, USUAL_APART_STILL) : width, &above);
	host->tail.apart = isfinite(below);
	if (!host->tail.apart)
		return PLACE_AMONG;
	*ret_apart = (below + above) / 2;
	return PLACE_APART;
}

void usuals_note(struct usuals *u, const char *node, const struct usual_value *values, size_t n,
		 double fleet)
{
	const struct usual *host = find(u, node);
	const double center = n > 0 && values[0].value > 0 ? center_of_values(values, n) : NAN;
	double now;

	if (fleet > 0)
		follow(u, fleet);
	if (!host || host->whole.n < REFERENCE_N_MIN || !(center > 0) || !(fleet > 0))
		return;
	now = log(center / fleet / trend_usual(&host->whole));
	u->drift += fmax(fmin(now - u->drift, DRIFT_STEP_MAX), -DRIFT_STEP_MAX) / DRIFT_REPORTS;
}

size_t usuals_part(struct usuals *u, const char *node, const char *subject,
		   double ret_ratios[static TREND_MAX])
{
	const struct usual *host = find(u, node);
	const struct usual_part *part = host ? find_part(host, subject) : NULL;

	return part ? trend_ratios(&part->trend, ret_ratios) : 0;
}

/* Of the hosts that are known; kept until 5 % of it is new. */
static const struct center *levels_of(struct usuals *u)
{
	CLEANUP(freep) double *levels = NULL;
	size_t n = 0, i;

	if (u->leveled && u->news <= u->n / 20)
		return &u->levels;
	levels = xcalloc(u->n + 1, sizeof(*levels));
	for (i = 0; i < u->n; i++) {
		if (u->hosts[i].whole.n >= REFERENCE_N_MIN)
			levels[n++] = trend_usual(&u->hosts[i].whole);
	}
	stats_sort(levels, n);
	u->levels = center_of(levels, n, 0);
	u->leveled = true;
	u->news = 0;
	return &u->levels;
}

/*
 * Its usual level among those of the others, `m` being this run. A host that is low as a rule
 * and not in this run has changed: what it was is no proof.
 */
static bool hold_level(const struct measure *m, const struct usual *host,
		       const struct center *hosts, double control, struct expectation *ret)
{
	struct measure level = *m;

	if (hosts->n < LEVEL_HOSTS_MIN)
		return false;
	level.value = trend_usual(&host->whole) * control;
	level.k = USUAL_WHOLE_K;
	if (!expectation_from_fleet(&level, hosts, ret))
		return false;
	if (measure_keeps(m, hosts->median * (m->lower ? 1 + m->slack : 1 - m->slack)))
		ret->low = ret->far = false;
	return true;
}

size_t usuals_whole(struct usuals *u, const char *node, const struct measure *m, double fleet,
		    struct expectation ret[static WHOLE_EXPECTATIONS])
{
	const struct usual *host = find(u, node);
	const double control = control_of(u, fleet);
	struct measure drop = *m;
	double values[TREND_MAX];
	struct center hosts;
	size_t n, i, known = 0;

	if (!host || host->whole.n < REFERENCE_N_MIN || !(control > 0))
		return 0;
	n = trend_ratios(&host->whole, values);
	for (i = 0; i < n; i++)
		values[i] *= control;
	drop.slack *= USUAL_WHOLE_SLACKS;
	if (!u->moved)
		known += expectation_from_history(&drop, values, n, &ret[known]);
	hosts = *levels_of(u);
	hosts.median *= control;
	hosts.sigma *= control;
	known += hold_level(m, host, &hosts, control, &ret[known]);
	return known;
}

static void host_release(struct usual *host)
{
	free(host->node);
	free(host->parts);
}

void usuals_forget(struct usuals *u, const char *node)
{
	bool there = false;
	size_t at = place_of(u, node, &there);

	if (!there)
		return;
	host_release(&u->hosts[at]);
	u->n--;
	u->news++;
	u->tails_news = u->n + 1; /* gather anew */
	u->changed = u->forgotten = true;
	memmove(&u->hosts[at], &u->hosts[at + 1], (u->n - at) * sizeof(*u->hosts));
}

void usuals_release(struct usuals *u)
{
	while (u->n > 0)
		host_release(&u->hosts[--u->n]);
	free(u->hosts);
	free(u->tails);
	*u = (struct usuals){ 0 };
}
