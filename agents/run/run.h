/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run on this host: options and files -> plan -> report (the probes) ->
 * verdict -> state. Nothing is changed before everything that people wrote has
 * been read and found good.
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

/* Everything that can be wrong before anything is done; the options are set. "FILE: ..." */
int run_prepare(struct run *run, struct err *err);

/* Does $CONF/disabled stop everything, until somebody removes it? A line says so. */
bool run_disabled(void);

/*
 * Run the probes, judge the report and keep what there is to keep. What could not be
 * kept is told on standard error and is no reason to fail.
 */
int run_make(struct run *run, struct err *err);

void run_release(struct run *run);
