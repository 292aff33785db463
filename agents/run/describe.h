/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A probe's description of itself (`--describe`), read with a timeout and an output limit,
 * because a probe may hang or print without end here too.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

enum { DESCRIBE_CHECKS_MAX = 64, DESCRIBE_OUTPUT_MAX = 64 * 1024 };

struct describe_check {
	char *check, *unit, *better, *finds;
};

struct describe {
	char *probe, *summary, *budget;
	bool active;
	struct describe_check *checks;
	size_t n_checks;
};

/*
 * Start the program at `path` with --describe and decode its output. -ETIMEDOUT, -EIO (killed, or
 * non-zero exit status), -E2BIG, -EINVAL (not a description), or why it could not be started. The
 * message in `err` does not name the probe.
 */
int describe_ask(const char *path, uint64_t timeout_us, struct describe *ret, struct err *err);

void describe_release(struct describe *d);
