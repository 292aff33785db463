/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts whose jobs die soon after they joined (lib/policy/restarts.h), of where hosts say that
 * ranks were: looked at once a day, as of its begin in UTC, so that a controller that is started
 * again looks at the same. What is found is evidence: `why` shows it, and a host that is named is
 * told once, by the log and as AssayHostSuspected; nothing is tested or cordoned for it.
 * Where hosts said more than STORE_PLACEMENTS_READ_MAX in these days, the newest count.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct controller_part;
struct service;

/* What is less telling is shown to nobody: that it joined twice, and what there is by chance once
 * in 20. */
enum { JOB_RESTARTS_DIED = 2 };
#define JOB_RESTARTS_SHOWN 0.05

extern const struct controller_part job_restarts_part;

/* What is shown of a host (docs/jobs.md): new reference, null when there is nothing. */
json_t *job_restarts_show(const struct service *s, const char *node);
