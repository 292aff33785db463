/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics for Prometheus: text format 0.0.4, every family with HELP and TYPE from one table.
 * docs/metrics.md lists them; a test compares it with the output.
 */
#pragma once

#include <stdint.h>

#include "controller/actions/actor.h"
#include "controller/auth/token_review.h"
#include "controller/campaign/campaigns.h"
#include "controller/http/api.h"
#include "controller/ingest/ingest_counts.h"
#include "controller/job/hangs.h"
#include "controller/job/jobs.h"
#include "controller/routes/metric_series.h"
#include "controller/routes/process_use.h"
#include "controller/store/store_jobs.h"
#include "lib/base/macro.h"

enum { LEVELS = 4, STATUS_CLASSES = 6 };

/* Total limits of series whose labels are chosen by hosts and files (metric_series.h). */
enum {
	METRICS_SERIES_MAX = 5000,
	METRICS_CHECKS_MAX = 2800,
	METRICS_BASELINES_MAX = 1700,
	METRICS_INCIDENTS_MAX = 495,
	METRICS_SERIES_EXTRA = 5, /* two of the others, and how many each family leaves out */
};

/* Values read for a request. */
struct metrics_now {
	uint64_t nodes[LEVELS]; /* by verdict */
	/* By labels, borrowed: open incidents, baselines, and metrics_walk_checks(). */
	const struct metric_series *incidents, *baselines_of, *checks;
	struct tls_ends ends;
	uint64_t waiting;			    /* reports waiting for their commit */
	uint64_t store_bytes;			    /* size of the store's files */
	uint64_t store_used, store_free, store_max; /* bytes; 0: no limit */
	uint64_t store_halved, store_failing;
	uint64_t store_damaged, store_looks, store_lost_commits, store_lost_reports, store_unsure;
	uint64_t baselines, baselines_max, baselines_dropped;
	uint64_t anomalies, anomalies_max, anomalies_dropped;
	uint64_t thinned_rounds, thinned_reports, thinned_bodies, forgotten_nodes;
	uint64_t answers[STATUS_CLASSES];
	uint64_t connections, held, cut, refused_connections, body_bytes;
	struct actor_counts act;
	struct campaigns_counts campaigns;
	struct jobs_counts jobs;
	uint64_t standing_still;
	struct hangs_counts hangs;
	struct store_jobs_told told_jobs; /* from store_jobs_now(); borrowed */
	json_t *predictions;		  /* from job_prediction_counts(); borrowed */
	json_t *investigations;		  /* from store_investigations_oldest(); borrowed */
	json_t *alerts;			  /* from alerting_counts(); borrowed */
	struct token_review_counts token_review;
	struct process_use process;
};

/* Returns the text, new memory. */
char *metrics_text(const struct ingest_counts *counts, const struct metrics_now *now);
