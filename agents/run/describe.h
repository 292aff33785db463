/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a probe says of itself (`--describe`): asked with a deadline and a limit
 * on what it may print, for a probe may hang or babble here as anywhere.
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
 * Start the program at `path` with --describe and decode its answer.
 * -ETIMEDOUT, -EIO (died, or exit status not 0), -E2BIG, -EINVAL (not a
 * description), or the reason why it could not be started; the sentence in
 * `err` does not name the probe.
 */
int describe_ask(const char *path, uint64_t timeout_us, struct describe *ret, struct err *err);

void describe_release(struct describe *d);
