/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of a host by itself say, before it is measured with others. Pure. */
#pragma once

#include <jansson.h>

#include "controller/job/investigation.h"
#include "controller/job/job_judging.h"

enum tested_alone {
	ALONE_PENDING, /* they are not over */
	ALONE_PASSED,
	ALONE_FAILED, /* in what shows nothing of what the job suffers from, or not often enough */
	ALONE_BAD,    /* it is what the job suffers from */
	ALONE_NEVER,  /* nobody waits for them any more */
};

/* As it was judged; of a group a test that fits need fail but once: that explains it for the others. */
enum tested_alone tested_alone(const struct job_judged *judged, const char *host);

/*
 * The next hosts of a group that is accused as a whole that passed, and of which nothing is said
 * yet (while no campaign of the investigation goes on): names, new reference; NULL: none.
 * `ret_bad`: the host of the group that failed, so that these are cleared by it: borrowed; NULL:
 * they are to be measured, and no host of the group is waited for.
 */
json_t *tested_alone_group(const struct job_judging_input *in, const struct job_judged *judged,
			   const struct investigation *inv, const char **ret_bad);
