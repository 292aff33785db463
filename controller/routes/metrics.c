/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/routes/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/campaign/campaign.h"
#include "controller/store/store_jobs.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"

/* Combined, so that a row of the table can refer to any member. */
struct all {
	struct ingest_counts counts;
	struct metrics_now now;
};

enum { WHOLE_DIGITS = 15, VALUE_DIGITS = 6 };

struct metric_family {
	const char *name, *type, *help;
	void (*write)(FILE *out, const struct metric_family *f, const struct all *all);
	size_t offset; /* member printed by write_count() and write_seconds() */
};

static void write_count(FILE *out, const struct metric_family *f, const struct all *all)
{
	uint64_t value;

	memcpy(&value, (const char *)all + f->offset, sizeof(value));
	(void)fprintf(out, "%s %" PRIu64 "\n", f->name, value);
}

static void write_seconds(FILE *out, const struct metric_family *f, const struct all *all)
{
	double value;

	memcpy(&value, (const char *)all + f->offset, sizeof(value));
	(void)fprintf(out, "%s %.3f\n", f->name, value);
}

static void write_build(FILE *out, const struct metric_family *f, const struct all *all UNUSED)
{
	(void)fprintf(out, "%s{version=\"" PACKAGE_VERSION "\"} 1\n", f->name);
}

static void write_nodes(FILE *out, const struct metric_family *f, const struct all *all)
{
	size_t i;

	for (i = 0; i < LEVELS; i++)
		(void)fprintf(out, "%s{verdict=\"%s\"} %" PRIu64 "\n", f->name,
			      verdict_level_names[i], all->now.nodes[i]);
}

/* --- families whose labels hosts and files choose --- */

static const char *const check_keys[METRIC_LABELS] = { "sku", "check", "verdict" };
static const char *const baseline_keys[METRIC_LABELS] = { "sku", "check", "class" };
static const char *const incident_keys[METRIC_LABELS] = { "check", "action", NULL };

_Static_assert(METRICS_CHECKS_MAX + METRICS_BASELINES_MAX + METRICS_INCIDENTS_MAX +
			       METRICS_SERIES_EXTRA <=
		       METRICS_SERIES_MAX,
	       "they are more than all together");

static void write_checks(FILE *out, const struct metric_family *f, const struct all *all)
{
	const struct metric_series_form form = { f->name, check_keys, METRICS_CHECKS_MAX, true,
						 WHOLE_DIGITS };

	metric_series_write(all->now.checks, &form, out);
}

static void write_baselines(FILE *out, const struct metric_family *f, const struct all *all)
{
	const struct metric_series_form form = { f->name, baseline_keys, METRICS_BASELINES_MAX,
						 false, VALUE_DIGITS };

	metric_series_write(all->now.baselines_of, &form, out);
}

static void write_incidents(FILE *out, const struct metric_family *f, const struct all *all)
{
	const struct metric_series_form form = { f->name, incident_keys, METRICS_INCIDENTS_MAX,
						 true, WHOLE_DIGITS };

	metric_series_write(all->now.incidents, &form, out);
}

static void write_left_out(FILE *out, const struct metric_family *f, const struct all *all)
{
	const struct {
		const char *family;
		const struct metric_series *series;
		size_t most;
	} rows[] = {
		{ "assay_checks", all->now.checks, METRICS_CHECKS_MAX },
		{ "assay_baseline", all->now.baselines_of, METRICS_BASELINES_MAX },
		{ "assay_incidents_open", all->now.incidents, METRICS_INCIDENTS_MAX },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		(void)fprintf(out, "%s{family=\"%s\"} %" PRIu64 "\n", f->name, rows[i].family,
			      metric_series_left_out(rows[i].series, rows[i].most));
}

/* Without TLS there are none. */
static void write_ends(FILE *out, const struct metric_family *f, const struct all *all)
{
	const struct tls_ends *ends = &all->now.ends;
	const struct {
		const char *file;
		uint64_t us;
	} rows[] = { { "tls-cert", ends->cert_us }, { "client-ca", ends->client_ca_us } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].us)
			(void)fprintf(out, "%s{file=\"%s\"} %" PRIu64 "\n", f->name, rows[i].file,
				      rows[i].us / USEC_PER_SEC);
	}
}

static void write_commits(FILE *out, const struct metric_family *f, const struct all *all)
{
	const struct ingest_counts *m = &all->counts;
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < COMMIT_BUCKETS; i++) {
		sum += m->commit_buckets[i];
		(void)fprintf(out, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", f->name,
			      ingest_commit_limits_s[i], sum);
	}
	(void)fprintf(
		out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n%s_sum %.6f\n%s_count %" PRIu64 "\n",
		f->name, m->commits, f->name, (double)m->commit_us / 1e6, f->name, m->commits);
}

static void write_answers(FILE *out, const struct metric_family *f, const struct all *all)
{
	size_t i;

	for (i = 2; i < STATUS_CLASSES; i++)
		(void)fprintf(out, "%s{class=\"%zuxx\"} %" PRIu64 "\n", f->name, i,
			      all->now.answers[i]);
}

static void write_cordons(FILE *out, const struct metric_family *f, const struct all *all)
{
	const struct actor_counts *c = &all->now.act;
	const struct {
		const char *result;
		uint64_t n;
	} rows[] = {
		{ "done", c->cordons_done },	     { "failed", c->cordons_failed },
		{ "dropped", c->cordons_dropped },   { "refused", c->cordons_refused },
		{ "dry-run", c->cordons_rehearsed },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		(void)fprintf(out, "%s{result=\"%s\"} %" PRIu64 "\n", f->name, rows[i].result,
			      rows[i].n);
}

static void write_groups(FILE *out, const struct metric_family *f, const struct all *all)
{
	size_t i;

	for (i = 0; campaign_outcome_names[i]; i++)
		(void)fprintf(out, "%s{outcome=\"%s\"} %" PRIu64 "\n", f->name,
			      campaign_outcome_names[i], all->now.campaigns.groups[i]);
}

static void write_windows(FILE *out, const struct metric_family *f, const struct all *all)
{
	size_t i;

	for (i = 0; window_state_names[i]; i++)
		(void)fprintf(out, "%s{result=\"%s\"} %" PRIu64 "\n", f->name,
			      window_state_names[i], all->now.jobs.windows[i]);
}

static void write_hangs(FILE *out, const struct metric_family *f, const struct all *all)
{
	size_t i;

	for (i = 0; i < HANG_CLASSES; i++)
		(void)fprintf(out, "%s{class=\"%s\"} %" PRIu64 "\n", f->name, hang_class_names[i],
			      all->now.hangs.hangs[i]);
}

static void write_hang_documents(FILE *out, const struct metric_family *f, const struct all *all)
{
	(void)fprintf(out, "%s{result=\"taken\"} %" PRIu64 "\n", f->name, all->now.hangs.documents);
	(void)fprintf(out, "%s{result=\"refused\"} %" PRIu64 "\n", f->name, all->now.hangs.refused);
}

/* States in which one can end, and those begun. */
static void write_investigations(FILE *out, const struct metric_family *f, const struct all *all)
{
	size_t i;

	for (i = 0; investigation_state_names[i]; i++) {
		if (i == INVESTIGATION_TESTING || i == INVESTIGATION_EVICT)
			continue;
		(void)fprintf(out, "%s{outcome=\"%s\"} %" PRIu64 "\n", f->name,
			      investigation_state_names[i], all->now.jobs.investigations[i]);
	}
}

/* States of open ones. */
static void write_investigation_ages(FILE *out, const struct metric_family *f, const struct all *all)
{
	size_t i;

	for (i = 0; i <= INVESTIGATION_REPLACED; i++)
		(void)fprintf(out, "%s{state=\"%s\"} %.0f\n", f->name, investigation_state_names[i],
			      json_number_value(json_object_get(all->now.investigations,
								investigation_state_names[i])));
}

/* {class: {"held", "failed", "poor"}}. */
static void write_predictions(FILE *out, const struct metric_family *f, const struct all *all)
{
	json_t *told;
	const char *class;

	json_object_foreach(all->now.predictions, class, told)(void)
		fprintf(out,
			"%s{class=\"%s\",held=\"true\"} %" JSON_INTEGER_FORMAT
			"\n%s{class=\"%s\",held=\"false\"} %" JSON_INTEGER_FORMAT "\n",
			f->name, class, json_integer_value(json_object_get(told, "held")), f->name,
			class, json_integer_value(json_object_get(told, "failed")));
}

static void write_poor(FILE *out, const struct metric_family *f, const struct all *all)
{
	json_t *told;
	const char *class;

	json_object_foreach(all->now.predictions, class, told)(void)
		fprintf(out, "%s{class=\"%s\"} %d\n", f->name, class,
			json_is_true(json_object_get(told, "poor")));
}

static void write_job_states(FILE *out, const struct metric_family *f, const struct all *all)
{
	json_t *states = all->now.told_jobs.states, *n;
	const char *state;

	json_object_foreach(states, state, n)(void)
		fprintf(out, "%s{state=\"%s\"} %" JSON_INTEGER_FORMAT "\n", f->name, state,
			json_integer_value(n));
}

/* "research" of "research/llm-7". Names of jobs need no escaping: jobs_name_ok(). */
static void write_of_jobs(FILE *out, const struct metric_family *f, json_t *jobs)
{
	json_t *slowdown;
	const char *job;

	json_object_foreach(jobs, job, slowdown)
	{
		const char *slash = strchr(job, '/');

		(void)fprintf(out, "%s{namespace=\"%.*s\",job=\"%s\"} %.4f\n", f->name,
			      slash ? (int)(slash - job) : 0, job, job, json_number_value(slowdown));
	}
}

static void write_job_slowdowns(FILE *out, const struct metric_family *f, const struct all *all)
{
	write_of_jobs(out, f, all->now.told_jobs.slowdowns);
}

static void write_acquittals(FILE *out, const struct metric_family *f, const struct all *all)
{
	const struct job_live_counts *counts = &all->now.jobs.live;

	(void)fprintf(out, "%s_sum %.3f\n%s_count %" PRIu64 "\n", f->name,
		      (double)counts->acquittal_us / 1e6, f->name, counts->acquittals);
}

static void write_job_own(FILE *out, const struct metric_family *f, const struct all *all)
{
	write_of_jobs(out, f, all->now.told_jobs.own);
}

/* {"to": [{"url", ...}]}; URLs need no escaping: settings_alerts_decode_url(). */
static void write_told(FILE *out, const struct metric_family *f, const struct all *all,
		       const char *key)
{
	const json_t *to = json_object_get(all->now.alerts, "to");
	size_t i;

	for (i = 0; i < json_array_size(to); i++) {
		const json_t *one = json_array_get(to, i);

		(void)fprintf(out, "%s{alertmanager=\"%s\"} %" JSON_INTEGER_FORMAT "\n", f->name,
			      json_string_value(json_object_get(one, "url")),
			      json_integer_value(json_object_get(one, key)));
	}
}

static void write_alerts_open(FILE *out, const struct metric_family *f, const struct all *all)
{
	(void)fprintf(out, "%s %" JSON_INTEGER_FORMAT "\n", f->name,
		      json_integer_value(json_object_get(all->now.alerts, "open")));
}

static void write_alerts_left_out(FILE *out, const struct metric_family *f, const struct all *all)
{
	(void)fprintf(out, "%s %" JSON_INTEGER_FORMAT "\n", f->name,
		      json_integer_value(json_object_get(all->now.alerts, "left_out")));
}

static void write_delivered(FILE *out, const struct metric_family *f, const struct all *all)
{
	write_told(out, f, all, "delivered");
}

static void write_failed(FILE *out, const struct metric_family *f, const struct all *all)
{
	write_told(out, f, all, "failed");
}

static void write_alerts_waiting(FILE *out, const struct metric_family *f, const struct all *all)
{
	write_told(out, f, all, "waiting");
}

static void write_oldest(FILE *out, const struct metric_family *f, const struct all *all)
{
	write_told(out, f, all, "oldest_s");
}

static void write_flag(FILE *out, const struct metric_family *f, const struct all *all)
{
	bool value;

	memcpy(&value, (const char *)all + f->offset, sizeof(value));
	(void)fprintf(out, "%s %d\n", f->name, value);
}

static void write_micros(FILE *out, const struct metric_family *f, const struct all *all)
{
	uint64_t value;

	memcpy(&value, (const char *)all + f->offset, sizeof(value));
	(void)fprintf(out, "%s %.6f\n", f->name, (double)value / 1e6);
}

static void write_budget(FILE *out, const struct metric_family *f, const struct all *all)
{
	const uint64_t *values = (const uint64_t *)(const void *)((const char *)all + f->offset);

	(void)fprintf(out,
		      "%s{budget=\"total\"} %" PRIu64 "\n%s{budget=\"rate\"} %" PRIu64
		      "\n%s{budget=\"rate.manual\"} %" PRIu64 "\n",
		      f->name, values[0], f->name, values[2], f->name, values[4]);
}

#define ACT(member) offsetof(struct all, now.act.member)
#define M(member) write_count, offsetof(struct all, counts.member)
#define NOW(member) write_count, offsetof(struct all, now.member)
#define NOW_SECONDS(member) write_seconds, offsetof(struct all, now.member)

static const struct metric_family families[] = {
	{ "assay_build_info", "gauge", "Always 1; the label is the running version.", write_build,
	  0 },
	{ "assay_reports_total", "counter", "Reports accepted and kept.", M(accepted) },
	{ "assay_reports_duplicate_total", "counter", "Reports received again and already stored.",
	  M(duplicates) },
	{ "assay_reports_late_total", "counter",
	  "Reports stored that arrived after a newer one from the same host.", M(late) },
	{ "assay_reports_malformed_total", "counter", "Reports that could not be read.",
	  M(malformed) },
	{ "assay_reports_refused_total", "counter",
	  "Reports refused because of a limit or their sender.", M(refused) },
	{ "assay_reports_shed_total", "counter",
	  "Requests told to retry later because too many arrived at once.", M(shed) },
	{ "assay_reports_waiting", "gauge", "Reports waiting for the next commit.", NOW(waiting) },
	{ "assay_nodes", "gauge", "Known hosts by verdict.", write_nodes, 0 },
	{ "assay_checks", "gauge",
	  "Hosts by SKU, check and the verdict of the check's worst part in their last runs.",
	  write_checks, 0 },
	{ "assay_incidents_open", "gauge",
	  "Open incidents by check and by the action their policy rule asks for.", write_incidents,
	  0 },
	{ "assay_cordons_total", "counter", "Cordons by result.", write_cordons, 0 },
	{ "assay_uncordons_total", "counter", "Hosts Assay returned to service.",
	  NOW(act.uncordons) },
	{ "assay_overrides_found_total", "counter",
	  "Cordons by Assay that someone lifted in the cluster.", NOW(act.overrides_found) },
	{ "assay_action_conflicts_total", "counter",
	  "Changes that conflicted with someone else's and were decided again.",
	  NOW(act.conflicts) },
	{ "assay_actions_under_way", "gauge", "Actions in progress, including tests.",
	  NOW(act.under_way) },
	{ "assay_tests_ordered_total", "counter", "Tests ordered.", NOW(act.tests_ordered) },
	{ "assay_tests_answered_total", "counter", "Ordered tests that passed or failed.",
	  NOW(act.tests_answered) },
	{ "assay_tests_lost_total", "counter", "Ordered tests that gave no result.",
	  NOW(act.tests_lost) },
	{ "assay_nodes_cordoned", "gauge", "Hosts cordoned by Assay.", NOW(act.cordoned) },
	{ "assay_nodes_sticky", "gauge",
	  "Cordoned hosts that only an operator can return to service.", NOW(act.sticky) },
	{ "assay_nodes_held", "gauge", "Hosts held for a test.", NOW(act.held) },
	{ "assay_nodes_overdue", "gauge",
	  "Hosts whose last full run is older than coverage.max_age.", NOW(act.overdue) },
	{ "assay_nodes_let_in", "gauge",
	  "Hosts that admit jobs despite a fatal signature because budget.deny is used up.",
	  NOW(act.let_in) },
	{ "assay_campaigns_running", "gauge", "Campaigns in progress.", NOW(campaigns.running) },
	{ "assay_campaigns_total", "counter", "Campaigns completed.", NOW(campaigns.done) },
	{ "assay_campaigns_abandoned_total", "counter", "Campaigns abandoned.",
	  NOW(campaigns.abandoned) },
	{ "assay_campaign_groups_total", "counter", "Groups of hosts tested together in campaigns.",
	  write_groups, 0 },
	{ "assay_campaign_hosts_blamed_total", "counter", "Hosts that a campaign blamed.",
	  NOW(campaigns.blamed) },
	{ "assay_jobs", "gauge", "Jobs that sent traces, by state.", write_job_states, 0 },
	{ "assay_job_slowdown", "gauge",
	  "Step time relative to a run without stragglers, for the slowest jobs.",
	  write_job_slowdowns, 0 },
	{ "assay_job_own_slowdown", "gauge",
	  "Slowdown of jobs whose cause is the job itself, or unknown.", write_job_own, 0 },
	{ "assay_suspects", "gauge", "Hosts suspected of slowing a job.", NOW(told_jobs.suspects) },
	{ "assay_jobs_standing_still", "gauge", "Running jobs whose heartbeats report no progress.",
	  NOW(standing_still) },
	{ "assay_jobs_hung", "gauge",
	  "Jobs whose hosts report that no rank has made progress for longer than any pause.",
	  NOW(hangs.hung) },
	{ "assay_job_hangs_total", "counter",
	  "Job hangs since start, by the first class that was found.", write_hangs, 0 },
	{ "assay_hang_documents_total", "counter",
	  "Documents about hung ranks received from hosts since start.", write_hang_documents, 0 },
	{ "assay_hang_document_bytes", "gauge", "Bytes of documents about hung ranks in memory.",
	  NOW(hangs.bytes) },
	{ "assay_hang_looks_total", "counter",
	  "Orders sent to hosts to look at the ranks of a job, since start.", NOW(hangs.looks) },
	{ "assay_acquittal_seconds", "summary",
	  "Time from suspecting a host to acquitting it by its tests.", write_acquittals, 0 },
	{ "assay_windows_total", "counter",
	  "Trace windows since start: those queued, and the others by outcome.", write_windows, 0 },
	{ "assay_investigations_total", "counter",
	  "Investigations since start: those opened, and the others by outcome.",
	  write_investigations, 0 },
	{ "assay_investigation_oldest_seconds", "gauge",
	  "Age of the oldest open investigation by state; 0 if there is none.",
	  write_investigation_ages, 0 },
	{ "assay_predictions_total", "counter",
	  "Predicted gains from replacing hosts that a later run could check, by outcome.",
	  write_predictions, 0 },
	{ "assay_predictions_poor", "gauge",
	  "1 while too few recent predictions of a class held, so that the class takes no host out "
	  "of "
	  "service.",
	  write_poor, 0 },
	{ "assay_alerts_open", "gauge", "Alerts open in Alertmanager.", write_alerts_open, 0 },
	{ "assay_alerts_left_out", "gauge", "Alerts not sent because there are too many.",
	  write_alerts_left_out, 0 },
	{ "assay_alerts_delivered_total", "counter",
	  "Alerts accepted by an Alertmanager, including each repeat.", write_delivered, 0 },
	{ "assay_alert_posts_failed_total", "counter", "Posts that an Alertmanager did not accept.",
	  write_failed, 0 },
	{ "assay_alerts_waiting", "gauge",
	  "Changes of alerts not yet delivered to an Alertmanager.", write_alerts_waiting, 0 },
	{ "assay_alerts_oldest_seconds", "gauge",
	  "Age of the oldest undelivered change of an alert; 0 if there is "
	  "none.",
	  write_oldest, 0 },
	{ "assay_decide_seconds_total", "counter", "Time spent in decisions.", write_micros,
	  ACT(decide_us) },
	{ "assay_breaker_open", "gauge", "1 while the breaker is open.", write_flag,
	  ACT(breaker_open) },
	{ "assay_fenced", "gauge", "1 once another controller has taken over.", write_flag,
	  ACT(fenced) },
	{ "assay_cluster_stale", "gauge", "1 while the view of the cluster's nodes is stale.",
	  write_flag, ACT(stale) },
	{ "assay_stopped", "gauge", "1 while the kill switch is on, or its state is unknown.",
	  write_flag, ACT(stopped) },
	{ "assay_budget_used", "gauge",
	  "Use of each budget: hosts out of service for any reason, or cordons within the window "
	  "of a rate.",
	  write_budget, ACT(budget_used) },
	{ "assay_budget_limit", "gauge", "Limit of each budget.", write_budget, ACT(budget_limit) },
	{ "assay_store_commit_seconds", "histogram", "Time to commit a batch of reports.",
	  write_commits, 0 },
	{ "assay_store_commit_failures_total", "counter",
	  "Batches of reports that could not be committed.", M(commit_failures) },
	{ "assay_store_bytes", "gauge", "Size of the files of the store.", NOW(store_bytes) },
	{ "assay_store_used_bytes", "gauge", "Bytes of the store in use.", NOW(store_used) },
	{ "assay_store_free_bytes", "gauge", "Free bytes within the store's file.",
	  NOW(store_free) },
	{ "assay_store_max_bytes", "gauge",
	  "Bytes in use above which history is kept for less time; 0 means no limit.",
	  NOW(store_max) },
	{ "assay_store_halved", "gauge",
	  "How many times the retention periods are currently halved.", NOW(store_halved) },
	{ "assay_store_failing", "gauge",
	  "1 while the store cannot be written, and for a short time afterwards.",
	  NOW(store_failing) },
	{ "assay_store_damaged_pages", "gauge", "Damaged pages of the store found since start.",
	  NOW(store_damaged) },
	{ "assay_store_looks_total", "counter", "Full integrity checks of the store.",
	  NOW(store_looks) },
	{ "assay_store_lost_commits", "gauge", "Acknowledged commits missing at start.",
	  NOW(store_lost_commits) },
	{ "assay_store_lost_reports", "gauge", "Reports in the missing commits, as a lower bound.",
	  NOW(store_lost_reports) },
	{ "assay_store_unsure", "gauge", "1 if the store could not be checked at start.",
	  NOW(store_unsure) },
	{ "assay_thinning_rounds_total", "counter", "Completed rounds of thinning.",
	  NOW(thinned_rounds) },
	{ "assay_reports_thinned_total", "counter", "Reports removed because of their age.",
	  NOW(thinned_reports) },
	{ "assay_report_bodies_thinned_total", "counter",
	  "Bodies of reports removed because of their age.", NOW(thinned_bodies) },
	{ "assay_nodes_forgotten_total", "counter",
	  "Hosts removed because they had not reported for long.", NOW(forgotten_nodes) },
	{ "assay_baseline", "gauge",
	  "Median over the hosts of a SKU in a check, in the check's unit.", write_baselines, 0 },
	{ "assay_baselines", "gauge", "Baselines kept.", NOW(baselines) },
	{ "assay_baselines_max", "gauge", "Maximum number of baselines that are kept.",
	  NOW(baselines_max) },
	{ "assay_baselines_dropped_total", "counter",
	  "Baselines dropped because one host or all together had too many.",
	  NOW(baselines_dropped) },
	{ "assay_shifts", "gauge", "Sets of hosts of a SKU that have a problem in a check.",
	  NOW(anomalies) },
	{ "assay_shifts_max", "gauge", "Maximum number of such sets that are kept.",
	  NOW(anomalies_max) },
	{ "assay_shifts_dropped_total", "counter",
	  "Sets of such hosts dropped because one host or all together had too many.",
	  NOW(anomalies_dropped) },
	{ "assay_http_responses_total", "counter", "HTTP responses by class of status.",
	  write_answers, 0 },
	{ "assay_http_connections", "gauge", "Open connections.", NOW(connections) },
	{ "assay_http_held", "gauge", "Long polls held open.", NOW(held) },
	{ "assay_http_cut_total", "counter", "Connections closed because they took too long.",
	  NOW(cut) },
	{ "assay_http_refused_total", "counter", "Connections refused because there were too many.",
	  NOW(refused_connections) },
	{ "assay_http_body_bytes", "gauge", "Bytes of incomplete requests in memory.",
	  NOW(body_bytes) },
	{ "assay_certificate_expires_seconds",
	  "gauge", "When the first certificate of a file expires, in seconds since 1970; absent without TLS.",
	  write_ends, 0 },
	{ "assay_identity_asked_total", "counter",
	  "Tokens sent to the cluster's API server for review.", NOW(token_review.asked) },
	{ "assay_identity_known_total", "counter",
	  "Requests whose token had already been reviewed.", NOW(token_review.known) },
	{ "assay_identity_refused_total", "counter", "Tokens that the API server refused.",
	  NOW(token_review.refused) },
	{ "assay_identity_limited_total", "counter",
	  "Requests refused because too many tokens were under review or refused.",
	  NOW(token_review.limited) },
	{ "assay_identity_failed_total", "counter",
	  "Token reviews that the API server did not answer.", NOW(token_review.failed) },
	{ "assay_identity_kept", "gauge", "Token reviews kept.", NOW(token_review.kept) },
	{ "assay_reloads_total", "counter", "Successful reloads.", M(reloads) },
	{ "assay_reload_failures_total", "counter",
	  "Reloads refused because of a bad file; the old settings stay.", M(reload_failures) },
	{ "assay_series_left_out", "gauge",
	  "Series left out of a family that is at its limit, or not computed yet.", write_left_out,
	  0 },
	{ "process_cpu_seconds_total", "counter", "User and system time of the process.",
	  NOW_SECONDS(process.cpu_s) },
	{ "process_resident_memory_bytes", "gauge", "Resident memory of the process.",
	  NOW(process.bytes) },
	{ "process_open_fds", "gauge", "Open file descriptors.", NOW(process.fds) },
	{ "process_max_fds", "gauge", "Maximum number of open file descriptors.",
	  NOW(process.fds_max) },
	{ "process_start_time_seconds", "gauge",
	  "Start time of the process, in seconds since 1970.", NOW_SECONDS(process.start_s) },
};

char *metrics_text(const struct ingest_counts *counts, const struct metrics_now *now)
{
	const struct all all = { *counts, *now };
	char *text = NULL;
	size_t length = 0, i;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return xstrdup("");
	for (i = 0; i < ARRAY_SIZE(families); i++) {
		const struct metric_family *f = &families[i];

		(void)fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name,
			      f->type);
		f->write(out, f, &all);
	}
	if (fclose(out) != 0) {
		free(text);
		return xstrdup("");
	}
	return text;
}
