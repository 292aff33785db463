/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sentences on the predicted gain of replacing a job's hosts, its verification, and the advice.
 * Pure.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

/* One sentence each, from GET /v1/jobs/ID, clean. The caller frees it; NULL: nothing to say. */
char *job_outlook_prediction(const json_t *job);
char *job_outlook_verified(const json_t *job);
char *job_outlook_advice(const json_t *job, uint64_t now_us);
