/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all jobs say of hosts (accused.h), by host, so that one that several accuse is found. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/base/map.h"

/* By host. Zero it before its first use. */
struct accusers {
	struct map hosts;
};

/* What a job says from now on, in place of what it said. */
void accusers_set(struct accusers *accusers, int64_t job, const json_t *list);

/* What all jobs but one have said of a host since `since_us`. */
struct accusers_of {
	uint64_t jobs;
	bool acquitted; /* of one of them */
	bool told;	/* a person was told, by one of them */
};

struct accusers_of accusers_of(const struct accusers *accusers, const char *node, int64_t job,
			       uint64_t since_us);
void accusers_release(struct accusers *accusers);
