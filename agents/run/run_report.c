/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/run_report.h"

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "lib/report/report.h"
#include "lib/sys/host.h"
#include "lib/topology/topology.h"

static json_t *load_topology(void)
{
	CLEANUP(topology_releasep) struct topology t = { 0 };

	return topology_load(&t, NULL) < 0 ? NULL : topology_encode(&t);
}

void run_report_start(struct report *report, const char *profile, json_t **ret_topology)
{
	json_t *topology = load_topology();
	char stamp[CLOCK_STAMP_SIZE];

	clock_stamp(clock_real_us(), stamp);
	*report = (struct report){
		.node = host_name(),
		.boot_id = host_boot_id(),
		.time = xstrdup(stamp),
		.profile = xstrdup(profile),
		.agent = xstrdup(PACKAGE_VERSION),
		.topology = xstrdup(json_string_value(json_object_get(topology, "digest"))),
		.env = host_env(),
		.uptime_s = (double)clock_boot_us() / (double)USEC_PER_SEC,
	};
	*ret_topology = topology;
}

static size_t encoded_size(const struct report *report)
{
	CLEANUP(json_freep) json_t *value = report_encode(report);
	CLEANUP(freep) char *text = json_line(value);

	return strlen(text);
}

static void drop_windows(struct report *report)
{
	size_t i;

	for (i = 0; i < report->n_samples; i++) {
		free(report->samples[i].w.v);
		report->samples[i].w = (struct jreals){ 0 };
	}
}

void run_report_fit(struct report *report)
{
	size_t had = report->n_samples;
	struct problem p = { .code = PROBLEM_TOO_MUCH };

	if (encoded_size(report) <= REPORT_MAX)
		return;
	drop_windows(report);
	/* Leave room for the problem itself; halve, so that this ends quickly. */
	while (report->n_samples && encoded_size(report) > REPORT_MAX - PROBLEM_TEXT_MAX) {
		size_t keep = report->n_samples / 2;

		while (report->n_samples > keep)
			sample_release(&report->samples[--report->n_samples]);
	}
	if (report->n_samples == had)
		return;
	p.probe = xstrdup("assay");
	p.detail = xasprintf("a report holds at most %d bytes: %zu of %zu samples are left out",
			     REPORT_MAX, had - report->n_samples, had);
	report_add_problem(report, &p);
}
