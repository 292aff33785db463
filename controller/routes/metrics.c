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

/* Both, so that a row of the table can name any member. */
struct all {
	struct ingest_counts counts;
	struct metrics_now now;
};

enum { WHOLE_DIGITS = 15, VALUE_DIGITS = 6 };

struct metric_family {
	const char *name, *type, *help;
	void (*write)(FILE *out, const struct metric_family *f, const struct all *all);
	size_t offset; /* of the member that write_count() and write_seconds() print */
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

/* Without TLS there is none. */
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

/* Of the states those in which one can end, and those that were begun. */
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

/* Of the states in which one goes on. */
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

/* "research" of "research/llm-7". Names of jobs need no escape: jobs_name_ok(). */
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

/* {"to": [{"url", ...}]}; a URL needs no escape: settings_alerts_decode_url(). */
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
	{ "assay_build_info", "gauge", "The version that runs, always 1.", write_build, 0 },
	{ "assay_reports_total", "counter", "Reports accepted and kept.", M(accepted) },
	{ "assay_reports_duplicate_total", "counter", "Reports that were there already.",
	  M(duplicates) },
	{ "assay_reports_late_total", "counter",
	  "Reports kept that came after a newer one of their host.", M(late) },
	{ "assay_reports_malformed_total", "counter", "Reports that could not be read.",
	  M(malformed) },
	{ "assay_reports_refused_total", "counter",
	  "Reports refused by a limit or for their sender.", M(refused) },
	{ "assay_reports_shed_total", "counter",
	  "Calls told to come again because too many came at once.", M(shed) },
	{ "assay_reports_waiting", "gauge", "Reports whose senders wait for the next commit.",
	  NOW(waiting) },
	{ "assay_nodes", "gauge", "Hosts known, by their verdict.", write_nodes, 0 },
	{ "assay_checks", "gauge",
	  "Hosts by SKU, check and the verdict of the check's worst part in their last runs.",
	  write_checks, 0 },
	{ "assay_incidents_open", "gauge",
	  "Incidents that are not closed, by check and by what the policy's rule asks for.",
	  write_incidents, 0 },
	{ "assay_cordons_total", "counter", "Cordons, by what came of them.", write_cordons, 0 },
	{ "assay_uncordons_total", "counter", "Hosts given back by us.", NOW(act.uncordons) },
	{ "assay_overrides_found_total", "counter",
	  "Cordons of ours that somebody lifted at the cluster.", NOW(act.overrides_found) },
	{ "assay_action_conflicts_total", "counter",
	  "Changes that met somebody else's and were decided again.", NOW(act.conflicts) },
	{ "assay_actions_under_way", "gauge", "Actions that are not over, tests among them.",
	  NOW(act.under_way) },
	{ "assay_tests_ordered_total", "counter", "Tests that hosts were told to run.",
	  NOW(act.tests_ordered) },
	{ "assay_tests_answered_total", "counter", "Of those, tests that passed or failed.",
	  NOW(act.tests_answered) },
	{ "assay_tests_lost_total", "counter", "Of those, tests that brought nothing.",
	  NOW(act.tests_lost) },
	{ "assay_nodes_cordoned", "gauge", "Hosts out of service because of us.",
	  NOW(act.cordoned) },
	{ "assay_nodes_sticky", "gauge", "Of those, hosts that only a person gives back.",
	  NOW(act.sticky) },
	{ "assay_nodes_held", "gauge", "Hosts kept free for a test.", NOW(act.held) },
	{ "assay_nodes_overdue", "gauge",
	  "Hosts whose deep verdict is older than coverage.max_age.", NOW(act.overdue) },
	{ "assay_nodes_let_in", "gauge",
	  "Hosts that admit jobs although they saw a fatal signature: budget.deny is used up.",
	  NOW(act.let_in) },
	{ "assay_campaigns_running", "gauge", "Campaigns of tests between hosts under way.",
	  NOW(campaigns.running) },
	{ "assay_campaigns_total", "counter", "Campaigns that came to their end.",
	  NOW(campaigns.done) },
	{ "assay_campaigns_abandoned_total", "counter", "Campaigns that did not.",
	  NOW(campaigns.abandoned) },
	{ "assay_campaign_groups_total", "counter", "Groups of hosts that measured together.",
	  write_groups, 0 },
	{ "assay_campaign_hosts_blamed_total", "counter", "Hosts that a campaign named.",
	  NOW(campaigns.blamed) },
	{ "assay_jobs", "gauge", "Jobs whose traces were sent, by what their last windows come to.",
	  write_job_states, 0 },
	{ "assay_job_slowdown", "gauge",
	  "Step time beside that without stragglers, of the slowest jobs.", write_job_slowdowns, 0 },
	{ "assay_job_own_slowdown", "gauge",
	  "The same of those that are slow by their own doing, or nobody can tell why.",
	  write_job_own, 0 },
	{ "assay_suspects", "gauge", "Hosts that are suspected of slowing a job.",
	  NOW(told_jobs.suspects) },
	{ "assay_jobs_standing_still", "gauge",
	  "Jobs whose beats say that no step comes, while they run.", NOW(standing_still) },
	{ "assay_acquittal_seconds", "summary",
	  "From the suspicion of a host to its acquittal by its tests.", write_acquittals, 0 },
	{ "assay_windows_total", "counter",
	  "Windows of traces since the start: those that were queued, and how they ended.",
	  write_windows, 0 },
	{ "assay_investigations_total", "counter",
	  "Investigations since the start: those that were begun (open), and how they ended.",
	  write_investigations, 0 },
	{ "assay_investigation_oldest_seconds", "gauge",
	  "Since the oldest investigation that goes on began, by its state; 0: there is none.",
	  write_investigation_ages, 0 },
	{ "assay_predictions_total", "counter",
	  "Predictions of what replacing hosts gains that a run was held against, as kept.",
	  write_predictions, 0 },
	{ "assay_predictions_poor", "gauge",
	  "1 while too few of a class's last predictions held: it takes no host out.", write_poor,
	  0 },
	{ "assay_alerts_open", "gauge", "What Alertmanagers are told of now.", write_alerts_open,
	  0 },
	{ "assay_alerts_left_out", "gauge", "What they are not, because there is too much.",
	  write_alerts_left_out, 0 },
	{ "assay_alerts_delivered_total", "counter",
	  "Alerts that an Alertmanager took: begun, said again each minute, and ended.",
	  write_delivered, 0 },
	{ "assay_alert_posts_failed_total", "counter", "Posts that an Alertmanager did not take.",
	  write_failed, 0 },
	{ "assay_alerts_waiting", "gauge",
	  "Alerts that have begun or ended, and that an Alertmanager was not told of yet.",
	  write_alerts_waiting, 0 },
	{ "assay_alerts_oldest_seconds", "gauge", "How long the first of them waits; 0: none does.",
	  write_oldest, 0 },
	{ "assay_decide_seconds_total", "counter", "Time spent in decisions.", write_micros,
	  ACT(decide_us) },
	{ "assay_breaker_open", "gauge", "1 while the breaker is open.", write_flag,
	  ACT(breaker_open) },
	{ "assay_fenced", "gauge", "1 when another controller has taken over.", write_flag,
	  ACT(fenced) },
	{ "assay_cluster_stale", "gauge",
	  "1 while the nodes of the cluster are not known for sure.", write_flag, ACT(stale) },
	{ "assay_stopped", "gauge",
	  "1 while the kill switch is thrown, or nobody knows whether it is.", write_flag,
	  ACT(stopped) },
	{ "assay_budget_used", "gauge",
	  "Hosts out of service, whoever took them out, and cordons in the rates' times.",
	  write_budget, ACT(budget_used) },
	{ "assay_budget_limit", "gauge", "How many there may be at most.", write_budget,
	  ACT(budget_limit) },
	{ "assay_store_commit_seconds", "histogram", "Time to make a batch of reports durable.",
	  write_commits, 0 },
	{ "assay_store_commit_failures_total", "counter", "Batches that could not be made durable.",
	  M(commit_failures) },
	{ "assay_store_bytes", "gauge", "Size of the files of the store.", NOW(store_bytes) },
	{ "assay_store_used_bytes", "gauge", "Bytes of the store in use.", NOW(store_used) },
	{ "assay_store_free_bytes", "gauge", "Bytes of the store's file that will be used again.",
	  NOW(store_free) },
	{ "assay_store_max_bytes", "gauge",
	  "Bytes in use above which less of the past is kept; 0: no limit.", NOW(store_max) },
	{ "assay_store_halved", "gauge", "How often the times of keep are halved now.",
	  NOW(store_halved) },
	{ "assay_store_failing", "gauge", "1 while the store cannot be written, and shortly after.",
	  NOW(store_failing) },
	{ "assay_store_damaged_pages", "gauge",
	  "Pages of the store found since the start that are not as they were left.",
	  NOW(store_damaged) },
	{ "assay_store_looks_total", "counter", "Times that all pages of the store were looked at.",
	  NOW(store_looks) },
	{ "assay_store_lost_commits", "gauge",
	  "Commits that were acknowledged and were not there at the start.",
	  NOW(store_lost_commits) },
	{ "assay_store_lost_reports", "gauge", "Reports of those commits, at least.",
	  NOW(store_lost_reports) },
	{ "assay_store_unsure", "gauge",
	  "1 when nothing could tell at the start whether the store is as it was left.",
	  NOW(store_unsure) },
	{ "assay_thinning_rounds_total", "counter", "Rounds of thinning that came to their end.",
	  NOW(thinned_rounds) },
	{ "assay_reports_thinned_total", "counter", "Reports removed because of their age.",
	  NOW(thinned_reports) },
	{ "assay_report_bodies_thinned_total", "counter",
	  "Bodies removed of reports, because of their age.", NOW(thinned_bodies) },
	{ "assay_nodes_forgotten_total", "counter",
	  "Hosts forgotten because nothing was heard of them.", NOW(forgotten_nodes) },
	{ "assay_baseline", "gauge",
	  "What the hosts of a SKU reach in a check: their median, in the check's unit.",
	  write_baselines, 0 },
	{ "assay_baselines", "gauge", "Baselines: what the hosts of a SKU reach in a check.",
	  NOW(baselines) },
	{ "assay_baselines_max", "gauge", "How many there may be.", NOW(baselines_max) },
	{ "assay_baselines_dropped_total", "counter",
	  "Baselines that made room, because a host or all together had too many.",
	  NOW(baselines_dropped) },
	{ "assay_shifts", "gauge", "Sets of hosts of a SKU that are bad in a check.",
	  NOW(anomalies) },
	{ "assay_shifts_max", "gauge", "How many there may be.", NOW(anomalies_max) },
	{ "assay_shifts_dropped_total", "counter",
	  "Sets that made room, because a host or all together had too many.",
	  NOW(anomalies_dropped) },
	{ "assay_http_responses_total", "counter", "Answers, by class of their status.",
	  write_answers, 0 },
	{ "assay_http_connections", "gauge", "Open connections.", NOW(connections) },
	{ "assay_http_held", "gauge", "Calls that are held open.", NOW(held) },
	{ "assay_http_cut_total", "counter", "Connections cut because they took too long.",
	  NOW(cut) },
	{ "assay_http_refused_total", "counter", "Connections for which there was no room.",
	  NOW(refused_connections) },
	{ "assay_http_body_bytes", "gauge", "Bytes of requests that are not complete.",
	  NOW(body_bytes) },
	{ "assay_certificate_expires_seconds", "gauge",
	  "When the first certificate of a file ends, seconds since 1970; without TLS none.",
	  write_ends, 0 },
	{ "assay_identity_asked_total", "counter",
	  "Tokens that the API server of the cluster was asked about.", NOW(token_review.asked) },
	{ "assay_identity_known_total", "counter",
	  "Calls whose token was known from an answer before.", NOW(token_review.known) },
	{ "assay_identity_refused_total", "counter", "Tokens that were refused after an answer.",
	  NOW(token_review.refused) },
	{ "assay_identity_limited_total", "counter",
	  "Calls refused because too many tokens were asked about or refused.",
	  NOW(token_review.limited) },
	{ "assay_identity_failed_total", "counter",
	  "Tokens about which the API server did not say anything.", NOW(token_review.failed) },
	{ "assay_identity_kept", "gauge", "Tokens about which there is an answer.",
	  NOW(token_review.kept) },
	{ "assay_reloads_total", "counter", "Reloads that were done.", M(reloads) },
	{ "assay_reload_failures_total", "counter",
	  "Reloads refused for a bad file: the old settings stay.", M(reload_failures) },
	{ "assay_series_left_out", "gauge",
	  "Series that a family leaves out, because it has as many as it may.", write_left_out, 0 },
	{ "process_cpu_seconds_total", "counter", "User and system time of the process.",
	  NOW_SECONDS(process.cpu_s) },
	{ "process_resident_memory_bytes", "gauge", "Resident memory of the process.",
	  NOW(process.bytes) },
	{ "process_open_fds", "gauge", "Open file descriptors.", NOW(process.fds) },
	{ "process_max_fds", "gauge", "How many file descriptors there may be.",
	  NOW(process.fds_max) },
	{ "process_start_time_seconds", "gauge", "Start of the process, seconds since 1970.",
	  NOW_SECONDS(process.start_s) },
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
