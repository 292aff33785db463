/* SPDX-License-Identifier: Apache-2.0 */
/* What replacing the hosts of a job is predicted to gain, how that came, and what is advised, in
 * words. Pure. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

/* One sentence each of what GET /v1/jobs/ID says, clean. New memory; NULL: there is nothing to say. */
char *job_outlook_prediction(const json_t *job);
char *job_outlook_verified(const json_t *job);
char *job_outlook_advice(const json_t *job, uint64_t now_us);
