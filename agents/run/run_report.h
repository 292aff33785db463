/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a report other than samples: who, when, and with which software. */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct report;

/*
 * Start the report of a run of `profile`: node, boot, time, agent, topology, environment.
 * `ret_topology` is the topology/1 that its digest stands for, a new reference; NULL if this
 * build or host cannot determine it.
 */
void run_report_start(struct report *report, const char *profile, json_t **ret_topology);

/*
 * Shrink the report until it encodes to at most REPORT_MAX: first drop sub-window values, then
 * the last samples, which a problem too-much then mentions.
 */
void run_report_fit(struct report *report);
