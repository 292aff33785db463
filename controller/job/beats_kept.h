/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a job's beats outlives the controller, kept with what is shown of the job: its run and
 * last step that were kept, the usual step, the first block, the longest pause, whether its
 * standstill was told, and whether it has ended. Beats themselves are not kept: the next one
 * comes within a minute. Pure.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"
#include "lib/policy/standstill.h"

struct beats_kept {
	bool told;  /* that it stands still since that step */
	bool ended; /* nothing of it is listened for */
};

/* New reference. */
json_t *beats_kept_of(const struct standstill *s, const struct beats_kept *kept);

/* Of `s` what standstill_restore() takes. False: it is none. */
bool beats_kept_read(const json_t *json, struct standstill *ret, struct beats_kept *ret_kept);

/* Since `was` was kept, is there something that must not be lost? */
bool beats_kept_differ(const struct standstill *s, const struct standstill *was);
