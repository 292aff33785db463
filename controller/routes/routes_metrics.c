/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/routes/routes_metrics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "controller/actions/actor.h"
#include "controller/alerts/alerting.h"
#include "controller/campaign/campaigns.h"
#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/job/beats.h"
#include "controller/job/hangs.h"
#include "controller/job/job_prediction.h"
#include "controller/job/jobs.h"
#include "controller/routes/metrics.h"
#include "controller/routes/metrics_walk.h"
#include "controller/routes/process_use.h"
#include "controller/store/store.h"
#include "controller/store/store_investigations.h"
#include "controller/store/store_jobs.h"
#include "controller/store/store_metrics.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

#define TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* The store and SQLite's files beside it. */
static uint64_t store_bytes(const char *path)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };
	uint64_t sum = 0;
	struct stat st;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(suffixes); i++) {
		CLEANUP(freep) char *file = xasprintf("%s%s", path, suffixes[i]);

		if (stat(file, &st) == 0)
			sum += (uint64_t)st.st_size;
	}
	return sum;
}

enum {
	NODES_AT_ONCE = 1000,
	JOBS_TOLD = 256, /* the slowest: each is a series */
};
/* After a start all medians of a large fleet have to be computed: this much per request. */
#define MEDIANS_US (10 * USEC_PER_MSEC)
/* A job silent for longer may have ended: its slowdown is not current. */
#define JOBS_TOLD_US (2 * USEC_PER_HOUR)

static void add_incidents(void *context, const char *check, const char *action, uint64_t n)
{
	const char *const labels[METRIC_LABELS] = { check, action };

	metric_series_add(context, labels, (double)n, n);
}

struct medians {
	struct metric_series *series;
	uint64_t until_us; /* monotonic: time limit for computing medians */
};

static void add_baseline(struct baseline *baseline, void *context)
{
	const struct medians *m = context;
	const struct baseline_about about = baseline_about(baseline);
	const char *const labels[METRIC_LABELS] = { about.sku, about.check, about.locality };
	size_t hosts;
	const double median = baseline_median(baseline, clock_mono_us() < m->until_us, &hosts);

	if (hosts > 0 && isfinite(median))
		metric_series_put(m->series, labels, median, hosts);
	else if (hosts > 0)
		m->series->beyond++;
}

/* Counters of the service itself. */
static struct metrics_now counted(struct service *s)
{
	const struct api_counts counts = api_counts(s->api);
	const struct store_health health = store_health(s->store);
	struct metrics_now now = {
		.waiting = s->n_batch,
		.store_bytes = store_bytes(s->settings->db),
		.store_max = s->settings->db_max,
		.store_failing = s->failing,
		.store_damaged = health.damaged,
		.store_looks = health.rounds,
		.store_lost_commits = health.lost_commits,
		.store_lost_reports = health.lost_reports,
		.store_unsure = health.sums > SUMS_NEW,
		.baselines = s->baselines.n,
		.baselines_max = BASELINES_MAX,
		.baselines_dropped = s->baselines.shares.dropped,
		.anomalies = s->baselines.anomalies.n,
		.anomalies_max = ANOMALIES_MAX,
		.anomalies_dropped = s->baselines.anomalies.shares.dropped,
		.store_halved = s->upkeep.retention.squeeze,
		.thinned_rounds = s->upkeep.retention.counts.rounds,
		.thinned_reports = s->upkeep.retention.counts.reports,
		.thinned_bodies = s->upkeep.retention.counts.bodies,
		.forgotten_nodes = s->upkeep.retention.counts.nodes,
		.connections = counts.connections,
		.held = counts.held,
		.cut = counts.cut,
		.refused_connections = counts.refused,
		.body_bytes = counts.body_bytes,
		.ends = counts.ends,
		.act = actor_counts(s->act),
		.campaigns = campaigns_counts(s),
		.jobs = jobs_counts(s),
		.standing_still = beats_standing_still(s),
		.hangs = hangs_counts(s),
	};

	_Static_assert(sizeof(now.answers) == sizeof(counts.answers), "classes of status");
	memcpy(now.answers, counts.answers, sizeof(now.answers));
	if (s->token_review)
		now.token_review = s->token_review->ops->counts(s->token_review);
	process_use_read(&now.process);
	return now;
}

/* New memory, or NULL if the store failed. */
static char *make_metrics(struct service *s, struct err *err)
{
	CLEANUP(store_jobs_told_release) struct store_jobs_told told_jobs = { .suspects = 0 };
	CLEANUP(json_freep) json_t *predictions = NULL;
	CLEANUP(json_freep) json_t *investigations = NULL;
	CLEANUP(json_freep) json_t *alerts = alerting_counts(s);
	CLEANUP(metric_series_release) struct metric_series incidents = { 0 }, baselines = { 0 };
	struct medians medians = { .series = &baselines };
	const uint64_t now_us = clock_real_us();
	struct metrics_now now = counted(s);
	struct store_size size = { 0 };

	if (store_count_verdicts(s->store, now_us, now.nodes, err) < 0 ||
	    store_incidents_by_kind(s->store, add_incidents, &incidents, err) < 0 ||
	    store_size(s->store, &size, err) < 0 ||
	    store_jobs_now(s->store, JOBS_TOLD, now_us - MIN(now_us, JOBS_TOLD_US), &told_jobs,
			   err) < 0 ||
	    job_prediction_counts(s->store, &s->rules.policy.jobs, &predictions, err) < 0 ||
	    store_investigations_oldest(s->store, now_us, &investigations, err) < 0)
		return NULL;
	medians.until_us = clock_mono_us() + MEDIANS_US;
	baselines_visit(&s->baselines, add_baseline, &medians);
	now.told_jobs = told_jobs;
	now.predictions = predictions;
	now.investigations = investigations;
	now.alerts = alerts;
	now.incidents = &incidents;
	now.baselines_of = &baselines;
	now.checks = metrics_walk_checks(s);
	now.store_used = size.used;
	now.store_free = size.free;
	return metrics_text(&s->counts, &now);
}

/*
 * Anybody may send requests, whose cost grows with the number of hosts: an answer is reused for
 * this many times the time it took, so that requests take at most that part of our time.
 */
enum { METRICS_SHARE = 20 };
#define METRICS_OLD_MAX_US USEC_PER_SEC

/* Validity of an answer begun at `start_us` and finished now. */
static uint64_t serves_until(uint64_t start_us)
{
	const uint64_t now_us = clock_mono_us();

	return now_us + MIN(METRICS_SHARE * (now_us - start_us), METRICS_OLD_MAX_US);
}

void routes_metrics_get(void *context, struct call *call)
{
	struct service *s = context;
	uint64_t start_us = clock_mono_us();
	struct err err = ERR_INIT;

	if (!s->metrics_text || start_us >= s->metrics_until_us) {
		free(s->metrics_text);
		s->metrics_text = make_metrics(s, &err);
		s->metrics_until_us = serves_until(start_us);
	}
	if (s->metrics_text)
		call_reply_text(call, 200, TEXT_TYPE, xstrdup(s->metrics_text));
	else
		call_refuse(call, 503, "%s", err.msg);
}

/* --- /metrics/nodes --- */

struct told_hosts {
	FILE *verdicts, *cordoned;
	struct service *service;
	char *after;
	size_t n; /* on this page */
};

static void tell_host(void *context, const struct store_host_brief *host)
{
	struct told_hosts *t = context;
	CLEANUP(freep) char *why = actor_cordoned(t->service->act, host->node);

	/* Host names need no escaping: node_name_ok(). */
	(void)fprintf(t->verdicts, "assay_node_verdict{node=\"%s\"} %d\n", host->node, host->level);
	(void)fprintf(t->cordoned, "assay_node_cordoned{node=\"%s\"} %d\n", host->node, why != NULL);
	free(t->after);
	t->after = xstrdup(host->node);
	t->n++;
}

/* Families must not be interleaved: one is written after the other. New memory, or NULL. */
static char *make_node_metrics(struct service *s, struct err *err)
{
	CLEANUP(freep) char *verdicts = NULL;
	CLEANUP(freep) char *cordoned = NULL;
	size_t verdicts_length = 0, cordoned_length = 0;
	struct told_hosts t = { open_memstream(&verdicts, &verdicts_length),
				open_memstream(&cordoned, &cordoned_length), s, xstrdup(""), 0 };
	int r = t.verdicts && t.cordoned ? 0 : err_set(err, ENOMEM, "out of memory");

	do {
		CLEANUP(freep) char *after = xstrdup(t.after);

		t.n = 0;
		if (r == 0)
			r = store_hosts_brief(s->store, after, NODES_AT_ONCE, clock_real_us(),
					      tell_host, &t, err);
	} while (r == 0 && t.n == NODES_AT_ONCE);
	free(t.after);
	if (t.verdicts && fclose(t.verdicts) != 0 && r == 0)
		r = err_set(err, ENOMEM, "out of memory");
	if (t.cordoned && fclose(t.cordoned) != 0 && r == 0)
		r = err_set(err, ENOMEM, "out of memory");
	return r < 0 ? NULL
		     : xasprintf("# HELP assay_node_verdict %s\n# TYPE assay_node_verdict gauge\n%s"
				 "# HELP assay_node_cordoned %s\n"
				 "# TYPE assay_node_cordoned gauge\n%s",
				 "The verdict of a host: 0 pass, 1 inconclusive, 2 warn, 3 fail.",
				 verdicts, "1 while Assay keeps the host out of service.", cordoned);
}

void routes_metrics_get_nodes(void *context, struct call *call)
{
	struct service *s = context;
	const uint64_t start_us = clock_mono_us();
	struct err err = ERR_INIT;

	if (!s->settings->metrics_nodes) {
		call_refuse(call, 404,
			    "per-host metrics are disabled: set metrics-nodes: true in "
			    "controller.yaml");
		return;
	}
	if (!s->node_metrics_text || start_us >= s->node_metrics_until_us) {
		free(s->node_metrics_text);
		s->node_metrics_text = make_node_metrics(s, &err);
		s->node_metrics_until_us = serves_until(start_us);
	}
	if (s->node_metrics_text)
		call_reply_text(call, 200, TEXT_TYPE, xstrdup(s->node_metrics_text));
	else
		call_refuse(call, 503, "%s", err.msg);
}
