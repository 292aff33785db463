/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says besides samples: who, when, on which software. */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct report;

/*
 * Start the report of a run of `profile`: node, boot, time, agent, topology,
 * environment. `ret_topology` is the topology/1 behind its digest, a new
 * reference; NULL when this build or this host cannot tell.
 */
void run_report_start(struct report *report, const char *profile, json_t **ret_topology);

/*
 * Make the encoded report fit REPORT_MAX: sub-window values go first, then the
 * last samples, which a problem too-much then tells.
 */
void run_report_fit(struct report *report);
