/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run on this host: options and files -> plan -> report (the probes) -> verdict -> state.
 * Nothing is modified before all input files have been read and checked.
 */
#pragma once

#include <jansson.h>

#include "agents/run/plan.h"
#include "agents/run/profiles.h"
#include "agents/run/references.h"
#include "agents/run/run_options.h"
#include "lib/base/macro.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"

struct run {
	struct run_options options;
	struct profiles profiles;
	struct references references;
	struct plan plan;
	struct report report;
	struct verdict verdict;
	json_t *topology; /* of the report, or NULL */
};

/* Check everything that can be wrong before the run; the options are set. "FILE: ..." */
int run_prepare(struct run *run, struct err *err);

/* Is the host switched off by $CONF/disabled? Prints a line if so. */
bool run_disabled(void);

/*
 * Run the probes, judge the report and save the results. A failure to save is reported on stderr
 * and does not fail the run.
 */
int run_make(struct run *run, struct err *err);

void run_release(struct run *run);
