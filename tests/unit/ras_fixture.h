/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job as NCCL's RAS prints it: the JSON of 2.28.7 and later, with or without the comma that some
 * versions omit, and the text of VERBOSE STATUS. There are four ranks per host, from 10.0.0.1 on;
 * rank R has PID 100 + R and GPU R % 4.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum { RAS_FIXTURE_FUNCTIONS = 5, RAS_FIXTURE_PID = 100, RAS_FIXTURE_HOST_RANKS = 4 };

enum ras_fixture_state {
	RAS_FIXTURE_RUNS,
	RAS_FIXTURE_SILENT,
	RAS_FIXTURE_DEAD,
	RAS_FIXTURE_LEFT,
	RAS_FIXTURE_INIT,
	RAS_FIXTURE_FINALIZE,
	RAS_FIXTURE_ERROR,
};

struct ras_fixture_rank {
	unsigned rank; /* global */
	enum ras_fixture_state state;
	unsigned long counts[RAS_FIXTURE_FUNCTIONS];
};

struct ras_fixture_comm {
	unsigned long hash;
	const struct ras_fixture_rank *ranks; /* [n], by their rank in the communicator */
	size_t n;
};

/* The caller frees the result. `comma`: as 2.29.2 and later print it. */
char *ras_fixture_json(const char *version, bool comma, const struct ras_fixture_comm *comms,
		       size_t n);
char *ras_fixture_text(const char *version, const struct ras_fixture_comm *comms, size_t n);
