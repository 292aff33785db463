/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/self_baseline.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/fnv.h"
#include "lib/base/xalloc.h"
#include "lib/judge/silicon.h"
#include "lib/judge/stats.h"

/* The drift is averaged over this many reports, none of which counts for more than good hosts
 * differ. */
#define DRIFT_REPORTS 32.0
#define DRIFT_STEP_MAX 0.05
/* The fleet is moving beyond half of the smallest floor, 5 %. The daily swing is less. */
#define MOVED_MIN 0.025

/* The worst parts are averaged over this many runs, and one run moves the average by this much at
 * most. */
enum { TAIL_RUNS = 32, TAIL_RUNS_MIN = 8 };
#define TAIL_STEP_MAX 0.03
/* Enough hosts to know the spread of their parts. */
enum { TAIL_HOSTS_MIN = 3 };
/* Typical number of parts per host. */
enum { TAIL_PARTS = 8 };

/*
 * The gap to the next part, as a logarithm: 5 %, the smallest slack of varying values. With few
 * hosts the gap is the only evidence, so it has to be larger by the error of two means of
 * TAIL_RUNS_MIN runs. An outlier stays one until the gap is below APART_STILL.
 */
#define APART 0.05
#define APART_OF_FEW 0.058
#define APART_STILL 0.042

/*
 * From TAIL_ALL_MIN parts on, the end of the tail is estimated from the worst of them, one in
 * TAIL_OF but at least TAIL_MIN. The very worst (TAIL_ASKED plus one in TAIL_SHARE) are the ones to
 * be judged: they only count as beyond the others (a censored sample).
 */
enum { TAIL_OF = 64, TAIL_MIN = 16, TAIL_ALL_MIN = 400, TAIL_ASKED = 4, TAIL_SHARE = 1000 };
/* Mean of the heaviest known tail of good parts, in standard deviations: an exponential one
 * (docs/sim.md). Estimates from few parts are drawn to it. */
#define TAIL_MEAN 1.3
/* Less probable explanations are rejected: that a SKU has a good part so far out although others
 * are near it, or that several parts beyond a gap are all bad. */
#define TAIL_ODDS 0.05
/* A run of an outlier is low if it is at most this much above the end of the others: two standard
 * deviations of a run. */
#define TAIL_RUN 0.03

/* With fewer hosts the spread of their levels is unknown: it may look half as wide as it is. */
enum { LEVEL_HOSTS_MIN = 10 };

/* Index of the host, or where to insert it. */
static size_t place_of(struct self_baselines *u, const char *node, bool *ret_there)
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

static struct self_baseline *find(struct self_baselines *u, const char *node)
{
	bool there = false;
	size_t at = place_of(u, node, &there);

	return there ? &u->hosts[at] : NULL;
}

static struct self_baseline *need(struct self_baselines *u, const char *node)
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
	u->hosts[at] = (struct self_baseline){ .node = xstrdup(node) };
	u->n++;
	return &u->hosts[at];
}

static const struct self_baseline_part *find_part(const struct self_baseline *host,
						  const char *subject)
{
	const uint32_t name = fnv1a(subject, strlen(subject));
	size_t i;

	for (i = 0; i < host->n; i++) {
		if (host->parts[i].name == name)
			return &host->parts[i];
	}
	return NULL;
}

static struct trend *need_part(struct self_baseline *host, const char *subject)
{
	const struct self_baseline_part *there = find_part(host, subject);

	if (there)
		return &host->parts[there - host->parts].trend;
	if (host->n == SELF_BASELINE_PARTS_MAX)
		return NULL;
	host->parts = xrealloc(host->parts, host->n + 1, sizeof(*host->parts));
	host->parts[host->n] =
		(struct self_baseline_part){ .name = fnv1a(subject, strlen(subject)) };
	return &host->parts[host->n++].trend;
}

/*
 * What the fleet reaches now, including its drift. Only for judging: learning uses the fleet alone,
 * or the drift would feed back on itself.
 */
static double control_of(const struct self_baselines *u, double fleet)
{
	return fleet * exp(u->drift);
}

static double center_of_values(const struct self_baseline_value *values, size_t n)
{
	CLEANUP(freep) double *sorted = xcalloc(n + 1, sizeof(*sorted));
	size_t i;

	for (i = 0; i < n; i++)
		sorted[i] = values[i].value;
	return trend_center(sorted, n);
}

/* Median of all of `n` ascending values except number `i`. */
static double others_of(const struct self_baseline_value *values, size_t n, size_t i)
{
	const size_t m = n - 1, low = (m - 1) / 2, high = m / 2;

	return (values[low + (low >= i)].value + values[high + (high >= i)].value) / 2;
}

/* One more report: update the fleet's level, and whether it has moved. */
static void follow(struct self_baselines *u, double fleet)
{
	const double now = log(fleet), runs = (double)TREND_MAX * (double)MAX(u->n, (size_t)1);

	u->slow = u->slow == 0 ? now : u->slow + (now - u->slow) / runs;
	u->moved = fabs(now - u->slow) > MOVED_MIN;
}

void self_baselines_learn(struct self_baselines *u, const char *node,
			  const struct self_baseline_value *values, size_t n, double fleet)
{
	struct self_baseline *host;
	const bool few = n <= REFERENCE_N_MIN; /* too few to compare with each other */
	size_t i;

	if (n == 0 || !(values[0].value > 0))
		return;
	host = need(u, node);
	u->changed = true;
	if (isfinite(fleet) && !u->moved) {
		trend_push(&host->whole, center_of_values(values, n) / fleet);
		u->news++;
	}
	if (few && (!isfinite(fleet) || u->moved))
		return;
	for (i = 0; i < n; i++) {
		struct trend *trend = need_part(host, values[i].subject);

		if (trend)
			trend_push(trend, values[i].value / (few ? fleet : others_of(values, n, i)));
	}
}

void self_baselines_tail(struct self_baselines *u, const char *node, double worst, double second)
{
	struct self_baseline_tail *t = &need(u, node)->tail;
	const double share = 1.0 / (t->runs < TAIL_RUNS ? t->runs + 1 : TAIL_RUNS);
	const double most = t->runs < REFERENCE_N_MIN ? INFINITY : TAIL_STEP_MAX;

	t->worst += share * fmax(fmin(worst - t->worst, most), -most);
	t->second += share * fmax(fmin(second - t->second, most), -most);
	t->runs++;
	u->tails_news++;
}

void self_baselines_set_spread(struct self_baselines *u, double spread)
{
	u->spread = spread;
}

static void note_lowest(struct self_baselines *u, const struct self_baseline *host)
{
	const struct self_baseline_worst one = { host->node, host->tail.worst };

	if (!u->lowest[0].node || one.worst < u->lowest[0].worst) {
		u->lowest[1] = u->lowest[0];
		u->lowest[0] = one;
	} else if (!u->lowest[1].node || one.worst < u->lowest[1].worst) {
		u->lowest[1] = one;
	}
}

/*
 * The tail of good parts as an exponential: `n` parts lie `sum` beyond `from` in total. Values
 * beyond a high threshold are distributed so (Pickands 1975, for a tail that is neither bounded nor
 * a power law). With few parts the estimate is poor, and with a threshold that is not high it is
 * too short: so SILICON_WEIGHT further parts are assumed that have the tail of parts with this
 * spread (a conjugate prior).
 */
struct tail {
	double from, sum;
	size_t of, n; /* parts beyond `from`, and how many give a distance */
	size_t asked; /* the very worst, counted only as beyond the others */
};

/* Approximate number of parts of all hosts. */
static size_t parts_of(const struct self_baselines *u)
{
	return u->n_tails / 2 * TAIL_PARTS;
}

/* Number of lowest values that the end of the tail is estimated from. */
static size_t tail_size(const struct self_baselines *u)
{
	return MAX(parts_of(u) / TAIL_OF, (size_t)TAIL_MIN);
}

/* Returns false if there are too few parts. */
static bool tail_of(const struct self_baselines *u, struct tail *ret)
{
	const size_t parts = parts_of(u);
	const size_t asked = TAIL_ASKED + parts / TAIL_SHARE;
	const size_t of = tail_size(u);
	struct tail t = { .of = of, .n = of - asked, .asked = asked };
	size_t i;

	if (parts < TAIL_ALL_MIN || of >= u->n_tails)
		return false;
	t.from = u->tails[of];
	for (i = 0; i < of; i++)
		t.sum += t.from - u->tails[MAX(i, asked)];
	if (u->spread > 0) {
		t.sum += SILICON_WEIGHT * TAIL_MEAN * u->spread;
		t.n += SILICON_WEIGHT;
	}
	*ret = t;
	return t.sum > 0;
}

/*
 * Distance beyond `from` at which `odds` good parts are expected. The scale of the tail is itself
 * an estimate from `n` parts: averaged over its uncertainty, the exponential becomes (1 + x / sum)
 * to the power of -n (Bayesian prediction, Aitchison and Dunsmore 1975).
 */
static double tail_beyond(const struct tail *t, double odds)
{
	return t->sum * (pow((double)t->of / odds, 1 / (double)t->n) - 1);
}

/*
 * Probability that a part this far beyond `from` is bad. The expected density of good parts follows
 * from tail_beyond(); of bad ones there is about one in TAIL_SHARE parts (MegaScale, arXiv
 * 2402.15627: 0.5 % of hosts, of eight each), with losses spread evenly up to what no good part
 * has.
 */
static double sick_at(const struct tail *t, size_t parts, double beyond)
{
	const double n = (double)t->n;
	const double good = (double)t->of * n / t->sum * pow(1 + beyond / t->sum, -n - 1);
	const double sick = (double)parts / TAIL_SHARE / -log(REFERENCE_TAIL);

	return sick / (sick + good);
}

/*
 * The middle of the innermost gap that has only very few parts beyond it. For a single part a gap
 * of `width` suffices. Several may be good ones however wide the gap, since several good parts
 * beyond a gap are more common than several bad ones. They are outliers only if all of them may be
 * bad, by how far out each is: with a probability of at least TAIL_ODDS.
 */
static double end_by_gap(const struct self_baselines *u, const struct tail *t, double width)
{
	const size_t most = t ? t->asked : 1;
	double all_sick = 1, end = -INFINITY;
	size_t i;

	for (i = 1; i <= most && i < u->n_tails; i++) {
		all_sick *= t ? sick_at(t, parts_of(u), t->from - u->tails[i - 1]) : 1;
		if (u->tails[i] - u->tails[i - 1] > width && (i == 1 || all_sick >= TAIL_ODDS))
			end = (u->tails[i] + u->tails[i - 1]) / 2;
	}
	return end;
}

static struct self_baseline_end find_end(const struct self_baselines *u)
{
	struct tail tail;
	const bool known = tail_of(u, &tail);
	const double width = known ? APART : APART_OF_FEW;
	struct self_baseline_end end = { end_by_gap(u, known ? &tail : NULL, width),
					 end_by_gap(u, known ? &tail : NULL, APART_STILL) };

	if (known) {
		const double last = tail_beyond(&tail, 1), rare = tail_beyond(&tail, TAIL_ODDS);

		end.apart = fmax(end.apart, tail.from - fmax(rare, last + APART));
		end.still =
			fmax(end.still, tail.from - fmax(rare, last + APART) + APART - APART_STILL);
	}
	end.still = fmax(end.still, end.apart);
	return end;
}

/* Collect the tails of all hosts; cached until 5 % of them are new. */
static void gather_tails(struct self_baselines *u)
{
	size_t i;

	if (u->tails && u->tails_news <= u->n / 20)
		return;
	u->tails = xrealloc(u->tails, 2 * u->n + 1, sizeof(*u->tails));
	u->n_tails = u->tails_news = 0;
	memset(u->lowest, 0, sizeof(u->lowest));
	for (i = 0; i < u->n; i++) {
		const struct self_baseline_tail *t = &u->hosts[i].tail;

		if (t->runs == 0)
			continue;
		note_lowest(u, &u->hosts[i]);
		u->tails[u->n_tails++] = t->worst;
		u->tails[u->n_tails++] = t->second;
	}
	stats_sort_lowest(u->tails, u->n_tails, MIN(tail_size(u) + 1, u->n_tails));
	u->end = find_end(u);
}

/* The worst part of any other host, as of the last collection. */
static double next_of(const struct self_baselines *u, const char *node)
{
	const struct self_baseline_worst *next = &u->lowest[0];

	if (next->node && streq(next->node, node))
		next = &u->lowest[1];
	return next->node ? next->worst : (double)INFINITY;
}

/* A run of an outlier is normally no better than this. */
static double run_of(const struct self_baseline_tail *t, double end)
{
	/* Exclude its other parts, unless they are outliers, too. */
	return t->second < end ? end + TAIL_RUN : fmin((t->worst + t->second) / 2, end + TAIL_RUN);
}

enum self_baseline_place self_baselines_place(struct self_baselines *u, const char *node,
					      struct self_baseline_limits *ret)
{
	struct self_baseline *host = find(u, node);
	double end;

	gather_tails(u);
	if (u->n_tails < 2 * ((size_t)TAIL_HOSTS_MIN + (host && host->tail.runs > 0)))
		return PLACE_UNKNOWN;
	if (!host || host->tail.runs == 0)
		return PLACE_AMONG;
	ret->next = fmin(next_of(u, node), host->tail.second);
	if (host->tail.runs < TAIL_RUNS_MIN) {
		ret->apart = ret->next - APART_OF_FEW;
		return PLACE_EARLY;
	}
	end = host->tail.apart ? u->end.still : u->end.apart;
	host->tail.apart = host->tail.worst < end;
	if (!host->tail.apart)
		return PLACE_AMONG;
	ret->apart = run_of(&host->tail, end);
	return PLACE_APART;
}

bool self_baselines_among(const struct self_baselines *u, const char *node)
{
	size_t i = 0;

	while (i < u->n && !streq(u->hosts[i].node, node))
		i++;
	return i < u->n && u->n_tails > 0 && u->hosts[i].tail.runs >= REFERENCE_N_MIN &&
	       u->hosts[i].tail.worst >= u->end.apart;
}

void self_baselines_note(struct self_baselines *u, const char *node,
			 const struct self_baseline_value *values, size_t n, double fleet)
{
	struct self_baseline *host = find(u, node);
	const double center = n > 0 && values[0].value > 0 ? center_of_values(values, n) : NAN;
	double now;

	if (fleet > 0)
		follow(u, fleet);
	if (!host || host->whole.n < REFERENCE_N_MIN || !(center > 0) || !(fleet > 0))
		return;
	now = log(center / fleet / trend_usual(&host->whole));
	host->lately = (host->lately + now - u->drift) / 2;
	u->drift += fmax(fmin(now - u->drift, DRIFT_STEP_MAX), -DRIFT_STEP_MAX) / DRIFT_REPORTS;
}

size_t self_baselines_part(struct self_baselines *u, const char *node, const char *subject,
			   double ret_ratios[static TREND_MAX])
{
	const struct self_baseline *host = find(u, node);
	const struct self_baseline_part *part = host ? find_part(host, subject) : NULL;

	return part ? trend_ratios(&part->trend, ret_ratios) : 0;
}

size_t self_baselines_own(struct self_baselines *u, const char *node, const char *subject,
			  double fleet, double ret_values[static TREND_MAX])
{
	const double control = control_of(u, fleet);
	size_t n = u->moved || !(control > 0) ? 0
					      : self_baselines_part(u, node, subject, ret_values);
	size_t i;

	for (i = 0; i < n; i++)
		ret_values[i] *= control;
	return n;
}

/* Center of the known hosts' levels; cached until 5 % are new. */
static const struct center *levels_of(struct self_baselines *u)
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
	u->levels = reference_center(levels, n, 0);
	/* At least what the means of their parts differ by, even if few hosts show less. */
	u->levels.sigma = fmax(u->levels.sigma, u->spread / sqrt(TAIL_PARTS));
	u->leveled = true;
	u->news = 0;
	return &u->levels;
}

/*
 * Compare its usual level with those of the others, `m` being this run. A host that is usually low
 * but not in this run has changed, so its past is no proof.
 */
static bool hold_level(const struct measure *m, const struct self_baseline *host,
		       const struct center *hosts, double control, struct expectation *ret)
{
	struct measure level = *m;

	if (hosts->n < LEVEL_HOSTS_MIN)
		return false;
	level.value = trend_usual(&host->whole) * control;
	level.k = SELF_BASELINE_WHOLE_K;
	if (!expectation_from_fleet(&level, hosts, ret))
		return false;
	if (measure_keeps(m, hosts->median * (m->lower ? 1 + m->slack : 1 - m->slack)))
		ret->low = ret->far = false;
	return true;
}

/* Was it low so recently that the last run, or the mean of several, was beyond the floor? */
static bool is_still_low(const struct self_baseline *host, const struct measure *m)
{
	const double floor = log(1 - m->slack * SELF_BASELINE_WHOLE_SLACKS);

	return (m->lower ? -host->lately : host->lately) < floor / 2;
}

size_t self_baselines_whole(struct self_baselines *u, const char *node, const struct measure *m,
			    double fleet, struct expectation ret[static WHOLE_EXPECTATIONS])
{
	const struct self_baseline *host = find(u, node);
	const double control = control_of(u, fleet);
	struct measure drop = *m;
	double values[TREND_MAX];
	struct center hosts;
	size_t n, i, known = 0;
	bool still;

	if (!host || host->whole.n < REFERENCE_N_MIN || !(control > 0))
		return 0;
	still = is_still_low(host, m);
	n = trend_ratios(&host->whole, values);
	for (i = 0; i < n; i++)
		values[i] *= control;
	drop.slack *= still ? SELF_BASELINE_STILL_SLACKS : SELF_BASELINE_WHOLE_SLACKS;
	drop.k *= still ? SELF_BASELINE_STILL_SPREAD : 1;
	if (!u->moved)
		known += expectation_from_history(&drop, values, n, &ret[known]);
	hosts = *levels_of(u);
	hosts.median *= control;
	hosts.sigma *= control;
	known += hold_level(m, host, &hosts, control, &ret[known]);
	return known;
}

static void host_release(struct self_baseline *host)
{
	free(host->node);
	free(host->parts);
}

void self_baselines_forget(struct self_baselines *u, const char *node)
{
	bool there = false;
	size_t at = place_of(u, node, &there);

	if (!there)
		return;
	host_release(&u->hosts[at]);
	u->n--;
	u->news++;
	u->tails_news = u->n + 1; /* collect anew */
	u->changed = u->forgotten = true;
	memmove(&u->hosts[at], &u->hosts[at + 1], (u->n - at) * sizeof(*u->hosts));
}

void self_baselines_release(struct self_baselines *u)
{
	while (u->n > 0)
		host_release(&u->hosts[--u->n]);
	free(u->hosts);
	free(u->tails);
	*u = (struct self_baselines){ 0 };
}
