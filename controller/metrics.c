/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/api.h"
#include "lib/judge/verdict.h"
#include "lib/xalloc.h"

static const double commit_limits_s[COMMIT_BUCKETS] = { 0.001, 0.0025, 0.005, 0.01, 0.025,
							0.05,  0.1,    0.5,   2 };

void metrics_commit(struct metrics *m, uint64_t us)
{
	size_t i = 0;

	while (i < COMMIT_BUCKETS && (double)us > commit_limits_s[i] * 1e6)
		i++;
	m->commit_buckets[i]++;
	m->commit_us += us;
	m->commits++;
}

static void family(FILE *out, const char *name, const char *type, const char *help)
{
	(void)fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void one(FILE *out, const char *name, const char *type, uint64_t value, const char *help)
{
	family(out, name, type, help);
	(void)fprintf(out, "%s %" PRIu64 "\n", name, value);
}

static void commits(FILE *out, const struct metrics *m)
{
	static const char name[] = "assay_store_commit_seconds";
	uint64_t sum = 0;
	size_t i;

	family(out, name, "histogram", "Time to make a batch of reports durable.");
	for (i = 0; i < COMMIT_BUCKETS; i++) {
		sum += m->commit_buckets[i];
		(void)fprintf(out, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", name, commit_limits_s[i],
			      sum);
	}
	(void)fprintf(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n%s_sum %.6f\n%s_count %" PRIu64 "\n",
		      name, m->commits, name, (double)m->commit_us / 1e6, name, m->commits);
}

static void hosts(FILE *out, const uint64_t nodes[static 4])
{
	size_t i;

	family(out, "assay_nodes", "gauge", "Hosts known, by their verdict.");
	for (i = 0; i < 4; i++)
		(void)fprintf(out, "assay_nodes{verdict=\"%s\"} %" PRIu64 "\n",
			      verdict_level_names[i], nodes[i]);
}

static void http(FILE *out, const struct api_counts *api)
{
	size_t i;

	family(out, "assay_http_responses_total", "counter", "Answers, by class of their status.");
	for (i = 2; i < ARRAY_SIZE(api->answers); i++)
		(void)fprintf(out, "assay_http_responses_total{class=\"%zuxx\"} %" PRIu64 "\n", i,
			      api->answers[i]);
	one(out, "assay_http_connections", "gauge", api->connections, "Open connections.");
	one(out, "assay_http_held", "gauge", api->held, "Calls that are held open.");
	one(out, "assay_http_cut_total", "counter", api->cut,
	    "Connections cut because they took too long.");
	one(out, "assay_http_body_bytes", "gauge", api->body_bytes,
	    "Bytes of requests that are not complete.");
}

char *metrics_text(const struct metrics *m, const uint64_t nodes[static 4], uint64_t incidents,
		   const struct api_counts *api)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return xstrdup("");
	one(out, "assay_reports_total", "counter", m->accepted, "Reports accepted and kept.");
	one(out, "assay_reports_duplicate_total", "counter", m->duplicates,
	    "Reports that were there already.");
	one(out, "assay_reports_late_total", "counter", m->late,
	    "Reports kept that came after a newer one of their host.");
	one(out, "assay_reports_malformed_total", "counter", m->malformed,
	    "Reports that could not be read.");
	one(out, "assay_reports_refused_total", "counter", m->refused,
	    "Reports refused by a limit or for their sender.");
	hosts(out, nodes);
	one(out, "assay_incidents_open", "gauge", incidents, "Incidents that are not closed.");
	commits(out, m);
	one(out, "assay_store_commit_failures_total", "counter", m->commit_failures,
	    "Batches that could not be made durable.");
	http(out, api);
	if (fclose(out) != 0) {
		free(text);
		return xstrdup("");
	}
	return text;
}
