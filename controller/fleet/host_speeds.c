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

/* NAN: of a host nothing is known, or too little. */
static double speed_of(const struct self_baseline *host)
{
	double slowest = 1;
	size_t i;

	if (host->whole.n < HOST_SPEEDS_RUNS_MIN)
		return NAN;
	for (i = 0; i < host->n; i++) {
		if (host->parts[i].trend.n >= HOST_SPEEDS_RUNS_MIN)
			slowest = MIN(slowest, trend_usual(&host->parts[i].trend));
	}
	return slowest * trend_usual(&host->whole);
}

/* Of all parts, or the host as a whole, into `values`; how many. */
static size_t parts_of(const struct self_baseline *host, double *values)
{
	double whole = trend_usual(&host->whole);
	size_t i, n = 0;

	for (i = 0; i < host->n; i++) {
		if (host->parts[i].trend.n >= HOST_SPEEDS_RUNS_MIN)
			values[n++] = whole * trend_usual(&host->parts[i].trend);
	}
	if (n == 0)
		values[n++] = whole;
	return n;
}

static void put(struct map *map, const char *node, double speed, const struct silicon *good,
		size_t of)
{
	struct host_speed *host = map_need(map, node, sizeof(*host));

	if (of <= host->of)
		return;
	host->speed = speed;
	host->good = *good;
	host->of = of;
}

/* All that is known under one key. */
struct line {
	const struct self_baselines *usuals;
	double *speeds;	       /* owned: [host]; NAN: not known */
	double *hosts, *parts; /* owned: of those that are known, ascending */
	size_t n_hosts, n_parts;
};

static void line_release(struct line *line)
{
	free(line->speeds);
	free(line->hosts);
	free(line->parts);
}

static struct line line_of(const struct self_baselines *usuals)
{
	struct line line = { .usuals = usuals };
	size_t i, room = 0;

	for (i = 0; i < usuals->n; i++)
		room += usuals->hosts[i].n + 1;
	line.speeds = xcalloc(usuals->n + 1, sizeof(*line.speeds));
	line.hosts = xcalloc(usuals->n + 1, sizeof(*line.hosts));
	line.parts = xcalloc(room + 1, sizeof(*line.parts));
	for (i = 0; i < usuals->n; i++) {
		line.speeds[i] = speed_of(&usuals->hosts[i]);
		if (isnan(line.speeds[i]))
			continue;
		line.hosts[line.n_hosts++] = line.speeds[i];
		line.n_parts += parts_of(&usuals->hosts[i], line.parts + line.n_parts);
	}
	stats_sort(line.hosts, line.n_hosts);
	stats_sort(line.parts, line.n_parts);
	return line;
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
	good = (struct silicon){ silicon_spread(line.hosts, line.n_hosts),
				 MIN(silicon_low(line.parts, line.n_parts) / usual, 1) };
	for (i = 0; i < line.usuals->n; i++) {
		if (isfinite(line.speeds[i]))
			put(context, line.usuals->hosts[i].node, line.speeds[i] / usual, &good,
			    line.n_hosts);
	}
}

void host_speeds_find(const struct baselines *baselines, struct map *ret)
{
	*ret = (struct map){ 0 };
	baselines_visit(baselines, look_at, ret);
}
