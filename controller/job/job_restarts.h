/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts whose jobs die soon after joining them (lib/policy/restarts.h), from the placements that
 * hosts report. Evaluated once a day as of 00:00 UTC, so that a restarted controller gets the same
 * result. It is evidence only: `why` shows it, and a host that is named is reported once, in the
 * log and as AssayHostSuspected; nothing is tested or cordoned. If there are more than
 * STORE_PLACEMENTS_READ_MAX placements in that period, the newest count.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct controller_part;
struct service;

/* Weaker evidence is not shown: fewer deaths, or a probability above that by chance. */
enum { JOB_RESTARTS_DIED = 2 };
#define JOB_RESTARTS_SHOWN 0.05

extern const struct controller_part job_restarts_part;

/* What is shown of a host (docs/jobs.md). New reference, null if there is nothing. */
json_t *job_restarts_show(const struct service *s, const char *node);
