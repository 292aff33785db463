/* SPDX-License-Identifier: Apache-2.0 */
/* Results of a host's own tests, before it is measured with others. Pure. */
#pragma once

#include <jansson.h>

#include "controller/job/investigation.h"
#include "controller/job/job_judging.h"

enum tested_alone {
	ALONE_PENDING, /* not finished */
	ALONE_PASSED,
	ALONE_FAILED, /* in an unrelated check, or not often enough */
	ALONE_BAD,    /* in what the job suffers from */
	ALONE_NEVER,  /* given up */
};

/* From the last judgement. In a group one failure of a matching test is enough: it explains the
 * others. */
enum tested_alone tested_alone(const struct job_judged *judged, const char *host);

/*
 * The hosts that passed of the next group accused as a whole, unless it has a verdict already
 * (while no campaign of the investigation is running): names, new reference; NULL: none. `ret_bad`:
 * the host of the group that failed and thereby clears these, borrowed; NULL: they are to be
 * measured, and no host of the group is waited for.
 */
json_t *tested_alone_group(const struct job_judging_input *in, const struct job_judged *judged,
			   const struct investigation *inv, const char **ret_bad);
