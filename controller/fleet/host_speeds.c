/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/host_speeds.h"

#include <math.h>
#include <stdlib.h>

#include "controller/fleet/baseline.h"
#include "controller/fleet/self_baseline.h"
#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"
#include "lib/report/report.h"

#define CHECK "gemm.rate"

static bool is_sure(const struct trend *trend)
{
	return trend->n >= HOST_SPEEDS_RUNS_SURE;
}

/* For a host with few runs, parts with a single run count, too. */
static bool is_counted(const struct self_baseline *host, size_t part)
{
	const struct trend *trend = &host->parts[part].trend;

	return is_sure(&host->whole) ? is_sure(trend) : trend->n > 0;
}

/* NAN if nothing is known about the host. */
static double speed_of(const struct self_baseline *host)
{
	double slowest = 1;
	size_t i;

	if (host->whole.n == 0)
		return NAN;
	for (i = 0; i < host->n; i++) {
		if (is_counted(host, i))
			slowest = MIN(slowest, trend_usual(&host->parts[i].trend));
	}
	return slowest * trend_usual(&host->whole);
}

/* Ratios of each part to the others of its host, unsorted. Returns their number. */
static size_t parts_of(const struct self_baseline *host, double *values)
{
	size_t i, n = 0;

	for (i = 0; i < host->n; i++) {
		if (is_counted(host, i))
			values[n++] = trend_usual(&host->parts[i].trend);
	}
	return n;
}

static void put(struct map *map, const struct self_baseline *usual, double speed,
		const struct silicon *good, size_t of)
{
	struct host_speed *host = map_need(map, usual->node, sizeof(*host));

	if (of <= host->of)
		return;
	host->speed = speed;
	host->good = *good;
	host->of = of;
	host->sure = is_sure(&usual->whole);
}

/* What is known within one baseline. */
struct line {
	const struct self_baselines *usuals;
	double *speeds; /* owned, per host; NAN: unknown */
	/* Owned, ascending, of known hosts: hosts' speeds; whole-host levels; ratios of all parts;
	 * ratio of the slowest part of each. */
	double *hosts, *wholes, *parts, *slowest;
	size_t n_hosts, n_parts, n_slowest;
};

static void line_release(struct line *line)
{
	free(line->speeds);
	free(line->hosts);
	free(line->wholes);
	free(line->parts);
	free(line->slowest);
}

static void add_host(struct line *line, const struct self_baseline *host, double speed)
{
	double whole = trend_usual(&host->whole);
	size_t n = parts_of(host, line->parts + line->n_parts);

	line->wholes[line->n_hosts] = whole;
	line->hosts[line->n_hosts++] = speed;
	line->n_parts += n;
	if (n > 0)
		line->slowest[line->n_slowest++] = speed / whole;
}

static struct line line_of(const struct self_baselines *usuals)
{
	struct line line = { .usuals = usuals };
	size_t i, room = 0, n = usuals->n + 1;

	for (i = 0; i < usuals->n; i++)
		room += usuals->hosts[i].n;
	line.speeds = xcalloc(n, sizeof(*line.speeds));
	line.hosts = xcalloc(n, sizeof(*line.hosts));
	line.wholes = xcalloc(n, sizeof(*line.wholes));
	line.slowest = xcalloc(n, sizeof(*line.slowest));
	line.parts = xcalloc(room + 1, sizeof(*line.parts));
	for (i = 0; i < usuals->n; i++) {
		line.speeds[i] = speed_of(&usuals->hosts[i]);
		if (isfinite(line.speeds[i]))
			add_host(&line, &usuals->hosts[i], line.speeds[i]);
	}
	stats_sort(line.hosts, line.n_hosts);
	stats_sort(line.wholes, line.n_hosts);
	stats_sort(line.slowest, line.n_slowest);
	stats_sort(line.parts, line.n_parts);
	return line;
}

/*
 * A cause that slows many hosts at once, such as a setting on a quarter of them or a hot rack, is
 * not random variation, and would hide slow individuals. It slows whole hosts: so parts are
 * compared within their own host, and the spread of whole hosts is taken from the better half, less
 * the share that comes from the random draw of their parts.
 */
static struct silicon good_of(const struct line *line)
{
	const double usual = line->hosts[line->n_hosts / 2];
	const double whole = line->wholes[line->n_hosts / 2];
	double wholes = silicon_better_spread(line->wholes, line->n_hosts), parts, slowest;

	/* Hosts with few parts, represented by their median. */
	if (line->n_slowest < HOST_SPEEDS_HOSTS_MIN)
		return (struct silicon){ silicon_spread(line->hosts, line->n_hosts),
					 MIN(silicon_low(line->hosts, line->n_hosts) / usual, 1) };
	parts = silicon_spread(line->parts, line->n_parts);
	wholes = sqrt(fmax(0, wholes * wholes - parts * parts * (double)line->n_slowest /
							(double)line->n_parts));
	slowest = silicon_spread(line->slowest, line->n_slowest);
	return (struct silicon){ hypot(slowest, wholes),
				 MIN(silicon_limit(whole, hypot(parts, wholes)) / usual, 1) };
}

static void look_at(struct baseline *baseline, void *context)
{
	const struct baseline_about about = baseline_about(baseline);
	CLEANUP(line_release) struct line line = { .n_hosts = 0 };
	struct silicon good;
	double usual;
	size_t i;

	if (!streq(about.check, CHECK) || about.better != BETTER_HIGHER)
		return;
	line = line_of(baseline_usuals(baseline));
	if (line.n_hosts < HOST_SPEEDS_HOSTS_MIN)
		return;
	usual = line.hosts[line.n_hosts / 2];
	good = good_of(&line);
	for (i = 0; i < line.usuals->n; i++) {
		if (isfinite(line.speeds[i]))
			put(context, &line.usuals->hosts[i], line.speeds[i] / usual, &good,
			    line.n_hosts);
	}
}

void host_speeds_find(const struct baselines *baselines, struct map *ret)
{
	*ret = (struct map){ 0 };
	baselines_visit(baselines, look_at, ret);
}
