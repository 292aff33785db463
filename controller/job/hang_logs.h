/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hosts found in the logs of a job that stands still ("logs" of assay-hang/1), a line each for
 * people: it stands beside what was found, and nothing is concluded from it. Pure but for memory.
 */
#pragma once

#include <jansson.h>

#include "controller/job/hang_docs.h"
#include "lib/base/macro.h"

enum {
	HANG_LOGS_OF_HOST_MAX = 8,
	HANG_LOGS_MAX = 32,
	HANG_LOGS_WORDS_MAX = 160, /* bytes of what a pattern says */
};

/* Of what a host says the lines below, NULL: none; new reference. And the bytes of its lines. */
json_t *hang_logs_read(const json_t *doc, const char *node);
size_t hang_logs_bytes(const json_t *lines);

/* ["gpu-17: a GPU's memory ... (cuda-ecc, 3 lines, 12 s ago)"], new reference. */
json_t *hang_logs_tell(const struct hang_docs *docs);
