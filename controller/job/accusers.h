/* SPDX-License-Identifier: Apache-2.0 */
/* The accusations of all jobs (accused.h) by host, to find hosts that several jobs accuse. Pure. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/base/map.h"

/* By host. Zero it before first use. */
struct accusers {
	struct map hosts;
};

/* Replace the accusations of a job. */
void accusers_set(struct accusers *accusers, int64_t job, const json_t *list);

/* What all other jobs have said about a host since `since_us`. */
struct accusers_of {
	uint64_t jobs;
	bool acquitted; /* of one of these accusations */
	bool told;	/* a person was told about one of them */
};

struct accusers_of accusers_of(const struct accusers *accusers, const char *node, int64_t job,
			       uint64_t since_us);
void accusers_release(struct accusers *accusers);
