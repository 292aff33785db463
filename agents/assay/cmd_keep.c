/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay keep FILE: make a report of what assayd observed, judge it, keep it and spool it. assayd
 * writes the draft (number, time, samples) into FILE, so that an interrupted report is made again
 * under the same number. The rest (topology, SKU, locks) would cost the daemon memory and time.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/assay/commands.h"
#include "agents/run/keep.h"
#include "agents/run/profiles.h"
#include "agents/run/references.h"
#include "agents/run/run_report.h"
#include "agents/run/watch_draft.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"
#include "lib/sys/usage.h"

enum { STATUS_FAILED = 1, STATUS_USAGE = 2 };

/* A broken policy or SKU file must not hide that a link is down. */
static void read_references(struct references *references, struct report *report)
{
	struct err err = ERR_INIT;

	if (references_read(NULL, NULL, references, &err) < 0)
		log_warning("%s; judged without it", err.msg);
	if (references->has_sku)
		report->sku = xstrdup(references->sku.name);
}

static int judge_and_keep(struct report *report, const json_t *topology, struct err *err)
{
	CLEANUP(references_release) struct references references = { .has_sku = false };
	CLEANUP(verdict_release) struct verdict verdict = { 0 };
	struct keep keep = {
		.report = report,
		.verdict = &verdict,
		.topology = topology,
		.spool = true,
	};
	struct judge_inputs inputs;

	read_references(&references, report);
	references_name(&references, report);
	inputs = references_inputs(&references);
	run_report_fit(report);
	verdict_judge(report, &inputs, &verdict);
	return keep_report(&keep, err);
}

int cmd_keep(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = usage_one_file,
		.args_doc = "FILE",
		.doc = "Judges what assayd has observed: the draft in FILE becomes a "
		       "report.\vExit status: 0 kept, 1 not kept, 2 usage or bad input.",
	};
	CLEANUP(report_release) struct report report = { .seq = 0 };
	CLEANUP(json_freep) json_t *topology = NULL;
	struct err err = ERR_INIT;
	const char *file = NULL;

	if (usage_parse(&argp, argc, argv, 0, NULL, &file) != 0)
		return STATUS_USAGE;
	run_report_start(&report, PROFILE_WATCH, &topology);
	if (watch_draft_read(file, &report, &err) < 0) {
		/* No prefix: it begins with the name of the bad file. */
		(void)fprintf(stderr, "%s\n", err.msg);
		return STATUS_USAGE;
	}
	if (judge_and_keep(&report, topology, &err) == 0)
		return 0;
	log_error("%s", err.msg);
	return STATUS_FAILED;
}
