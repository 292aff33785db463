/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hosts found in the logs of a job that stands still ("logs" of assay-hang/1), one line each
 * for people: shown beside the finding, and not used for it. Pure except for memory.
 */
#pragma once

#include <jansson.h>

#include "controller/job/hang_docs.h"
#include "lib/base/macro.h"

enum {
	HANG_LOGS_OF_HOST_MAX = 8,
	HANG_LOGS_MAX = 32,
	HANG_LOGS_WORDS_MAX = 160, /* bytes of a pattern's description */
};

/* The lines in a host's document, NULL: none, new reference; and their size in bytes. */
json_t *hang_logs_read(const json_t *doc, const char *node);
size_t hang_logs_bytes(const json_t *lines);

/* ["gpu-17: a GPU's memory ... (cuda-ecc, 3 lines, 12 s ago)"]. New reference. */
json_t *hang_logs_tell(const struct hang_docs *docs);
