/* SPDX-License-Identifier: Apache-2.0 */
/* The API as a table, and its handlers. */
#include "controller/routes/routes.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "controller/actions/actor.h"
#include "controller/actions/remediation.h"
#include "controller/campaign/campaigns.h"
#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/job/beats.h"
#include "controller/job/job_prediction.h"
#include "controller/job/jobs.h"
#include "controller/job/trace_files.h"
#include "controller/routes/metrics.h"
#include "controller/routes/process_use.h"
#include "controller/routes/routes_advice.h"
#include "controller/routes/routes_investigations.h"
#include "controller/routes/routes_jobs.h"
#include "controller/routes/routes_join.h"
#include "controller/store/store.h"
#include "controller/store/store_investigations.h"
#include "controller/store/store_jobs.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/topology/topology_file.h"

static void get_healthz(void *context, struct call *call)
{
	const struct service *s = context;
	const char *stale = s->act ? actor_stale(s->act) : NULL;

	/* Still 200: a restart would not bring the cluster back. */
	call_reply_text(call, 200, "text/plain; charset=utf-8",
			stale ? xasprintf("ok\nnot acting: %s\n", stale) : xstrdup("ok\n"));
}

bool stands_by(const struct service *s, struct call *call)
{
	const char *other = remediation_other(s);

	if (!other)
		return false;
	call_close(call);
	call_refuse(call, 503, "another controller acts, this one stands by: '%.200s'", other);
	return true;
}

bool routes_take_no_order(const struct service *s, struct call *call)
{
	if (stands_by(s, call))
		return true;
	if (!service_full(s))
		return false;
	call_refuse(call, 503, "too much at once");
	return true;
}

static void get_readyz(void *context, struct call *call)
{
	struct service *s = context;
	struct err err = ERR_INIT;
	uint64_t n = 0;

	if (stands_by(s, call))
		return;
	if (store_count_nodes(s->store, &n, &err) < 0)
		call_refuse(call, 503, "%s", err.msg);
	else
		call_reply_text(call, 200, "text/plain; charset=utf-8", xstrdup("ready\n"));
}

/* The store and what SQLite keeps beside it. */
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

enum { JOBS_TOLD = 256 }; /* the slowest: each is a series of its own */
/* Longer ago heard of, a job may have ended: how slow it was is no news. */
#define JOBS_TOLD_US (2 * USEC_PER_HOUR)

/* New memory, or NULL: the store failed. */
static char *make_metrics(struct service *s, struct err *err)
{
	CLEANUP(store_jobs_told_release) struct store_jobs_told told_jobs = { .suspects = 0 };
	CLEANUP(json_freep) json_t *predictions = NULL;
	CLEANUP(json_freep) json_t *investigations = NULL;
	const uint64_t now_us = clock_real_us();
	struct api_counts counts = api_counts(s->api);
	struct metrics_now now = {
		.waiting = s->n_batch,
		.store_bytes = store_bytes(s->settings->db),
		.store_max = s->settings->db_max,
		.store_failing = s->failing,
		.baselines = s->baselines.n,
		.baselines_max = BASELINES_MAX,
		.baselines_dropped = s->baselines.shares.dropped,
		.anomalies = s->baselines.anomalies.n,
		.anomalies_max = ANOMALIES_MAX,
		.anomalies_dropped = s->baselines.anomalies.shares.dropped,
		.store_halved = s->retention_job.squeeze,
		.thinned_rounds = s->retention_job.counts.rounds,
		.thinned_reports = s->retention_job.counts.reports,
		.thinned_bodies = s->retention_job.counts.bodies,
		.forgotten_nodes = s->retention_job.counts.nodes,
		.connections = counts.connections,
		.held = counts.held,
		.cut = counts.cut,
		.refused_connections = counts.refused,
		.body_bytes = counts.body_bytes,
	};
	const struct store_health health = store_health(s->store);
	struct store_size size = { 0 };

	_Static_assert(sizeof(now.answers) == sizeof(counts.answers), "classes of status");
	memcpy(now.answers, counts.answers, sizeof(now.answers));
	now.store_damaged = health.damaged;
	now.store_looks = health.rounds;
	now.store_lost_commits = health.lost_commits;
	now.store_lost_reports = health.lost_reports;
	now.store_unsure = health.sums > SUMS_NEW;
	now.act = actor_counts(s->act);
	now.campaigns = campaigns_counts(s);
	now.jobs = jobs_counts(s);
	now.standing_still = beats_standing_still(s);
	if (s->token_review)
		now.token_review = s->token_review->ops->counts(s->token_review);
	process_use_read(&now.process);
	if (store_count_verdicts(s->store, clock_real_us(), now.nodes, err) < 0 ||
	    store_count_incidents(s->store, &now.incidents, err) < 0 ||
	    store_size(s->store, &size, err) < 0 ||
	    store_jobs_now(s->store, JOBS_TOLD, now_us - MIN(now_us, JOBS_TOLD_US), &told_jobs,
			   err) < 0 ||
	    job_prediction_counts(s->store, &s->rules.policy.jobs, &predictions, err) < 0 ||
	    store_investigations_oldest(s->store, now_us, &investigations, err) < 0)
		return NULL;
	now.told_jobs = told_jobs;
	now.predictions = predictions;
	now.investigations = investigations;
	now.store_used = size.used;
	now.store_free = size.free;
	return metrics_text(&s->counts, &now);
}

/*
 * Anybody may ask, and it takes the longer the more hosts there are: what was made serves so many
 * times as long as it took to make, so that no crowd takes more than that part of our time.
 */
enum { METRICS_SHARE = 20 };
#define METRICS_OLD_MAX_US USEC_PER_SEC

static void get_metrics(void *context, struct call *call)
{
	struct service *s = context;
	uint64_t start_us = clock_mono_us();
	struct err err = ERR_INIT;

	if (!s->metrics_text || start_us >= s->metrics_until_us) {
		free(s->metrics_text);
		s->metrics_text = make_metrics(s, &err);
		s->metrics_until_us =
			clock_mono_us() +
			MIN(METRICS_SHARE * (clock_mono_us() - start_us), METRICS_OLD_MAX_US);
	}
	if (s->metrics_text)
		call_reply_text(call, 200, "text/plain; version=0.0.4; charset=utf-8",
				xstrdup(s->metrics_text));
	else
		call_refuse(call, 503, "%s", err.msg);
}

static const struct route routes[] = {
	{ "GET", "/healthz", ROLE_ANYBODY, 0, get_healthz },
	{ "GET", "/readyz", ROLE_ANYBODY, 0, get_readyz },
	{ "GET", "/metrics", ROLE_ANYBODY, 0, get_metrics },
	{ "POST", "/v1/reports", ROLE_NODE, REPORT_MAX, post_report },
	{ "POST", "/v1/reports/batch", ROLE_NODE, REPORT_MAX, post_reports },
	{ "PUT", "/v1/topologies/{}", ROLE_NODE, TOPOLOGY_TEXT_MAX, put_topology },
	{ "GET", "/v1/topologies/{}", ROLE_READ, 0, get_topology },
	{ "GET", "/v1/nodes", ROLE_READ, 0, get_nodes },
	{ "GET", "/v1/nodes/{}", ROLE_READ, 0, get_node },
	{ "GET", "/v1/nodes/{}/why", ROLE_READ, 0, get_why },
	{ "GET", "/v1/nodes/{}/samples", ROLE_READ, 0, get_samples },
	{ "GET", "/v1/nodes/{}/verdicts", ROLE_READ, 0, get_verdicts },
	{ "GET", "/v1/nodes/{}/orders", ROLE_NODE, 0, get_orders },
	{ "PUT", "/v1/nodes/{}/processes", ROLE_NODE, PROCESSES_MAX, routes_put_processes },
	{ "GET", "/v1/nodes/{}/evidence", ROLE_READ, 0, get_evidence },
	{ "POST", "/v1/nodes/{}/cordon", ROLE_OPERATE, ORDER_MAX, post_cordon },
	{ "POST", "/v1/nodes/{}/uncordon", ROLE_OPERATE, ORDER_MAX, post_uncordon },
	{ "POST", "/v1/nodes/{}/repair-done", ROLE_OPERATE, ORDER_MAX, post_repair_done },
	{ "POST", "/v1/nodes/{}/override", ROLE_OPERATE, ORDER_MAX, post_override },
	{ "POST", "/v1/nodes/{}/silence", ROLE_OPERATE, ORDER_MAX, post_silence },
	{ "GET", "/v1/actions", ROLE_READ, 0, get_actions },
	{ "GET", "/v1/breaker", ROLE_READ, 0, get_breaker },
	{ "POST", "/v1/breaker/reset", ROLE_OPERATE, ORDER_MAX, post_breaker_reset },
	{ "GET", "/v1/coverage", ROLE_READ, 0, get_coverage },
	{ "GET", "/v1/policy", ROLE_READ, 0, get_policy },
	{ "POST", "/v1/policy/replay", ROLE_READ, JSON_PEOPLE_FILE_MAX, post_policy_replay },
	{ "GET", "/v1/incidents", ROLE_READ, 0, get_incidents },
	{ "GET", "/v1/incidents/{}", ROLE_READ, 0, get_incident },
	{ "POST", "/v1/campaigns", ROLE_OPERATE, CAMPAIGN_BODY_MAX, post_campaign },
	{ "GET", "/v1/campaigns", ROLE_READ, 0, get_campaigns },
	{ "GET", "/v1/campaigns/{}", ROLE_READ, 0, get_campaign },
	{ "POST", "/v1/traces", ROLE_SUBMIT, TRACE_MAX, routes_jobs_post_trace },
	{ "POST", "/v1/steps", ROLE_SUBMIT, BEAT_MAX, routes_jobs_post_steps },
	{ "GET", "/v1/jobs", ROLE_READ, 0, routes_jobs_list },
	{ "GET", "/v1/jobs/{}", ROLE_READ, 0, routes_jobs_show },
	{ "GET", "/v1/jobs/{}/windows", ROLE_READ, 0, routes_jobs_windows },
	{ "POST", "/v1/jobs/{}/diagnose", ROLE_OPERATE, ORDER_MAX, routes_jobs_diagnose },
	{ "GET", "/v1/jobs/{}/windows/{}", ROLE_READ, 0, routes_jobs_window },
	{ "GET", "/v1/investigations", ROLE_READ, 0, routes_investigations_list },
	{ "GET", "/v1/investigations/{}", ROLE_READ, 0, routes_investigations_show },
	{ "POST", "/v1/investigations/{}/cancel", ROLE_OPERATE, ORDER_MAX,
	  routes_investigations_cancel },
	{ "GET", "/v1/jobs/{}/advice", ROLE_SUBMIT, 0, routes_advice_get },
	{ "POST", "/v1/jobs/{}/advice", ROLE_SUBMIT, ORDER_MAX, routes_advice_post },
	{ "GET", "/v1/baselines", ROLE_READ, 0, get_baselines },
	{ "GET", "/v1/drift", ROLE_READ, 0, get_drift },
	{ "GET", "/v1/ca", ROLE_ANYBODY, 0, routes_join_get_ca },
	{ "POST", "/v1/join", ROLE_ANYBODY, ORDER_MAX, routes_join_post },
	{ "POST", "/v1/join-tokens", ROLE_ADMIN, ORDER_MAX, routes_join_post_token },
	{ "GET", "/v1/join-tokens", ROLE_READ, 0, routes_join_list },
	{ "POST", "/v1/join-tokens/{}/revoke", ROLE_ADMIN, ORDER_MAX, routes_join_revoke },
	{ "POST", "/v1/nodes/{}/reset-token", ROLE_ADMIN, ORDER_MAX, routes_join_reset },
	{ "POST", "/v1/backup", ROLE_ADMIN, ORDER_MAX, post_backup },
	{ "GET", "/v1/backup", ROLE_READ, 0, get_backup },
};

void routes_set(struct api_options *options)
{
	options->routes = routes;
	options->n_routes = ARRAY_SIZE(routes);
}
