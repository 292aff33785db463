/* SPDX-License-Identifier: Apache-2.0 */
/* Progress of a long measurement, as one line on a terminal; silent elsewhere. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct progress {
	const char *what;
	uint64_t begin_us;
	bool terminal, shown;
};

/* Nothing is shown in the first two seconds, nor if samples go to the terminal themselves. */
void progress_begin(struct progress *p, const char *what);
void progress_tell(struct progress *p, size_t done, size_t of, const char *unit, uint64_t left_us);

/* Clear the line. */
void progress_end(struct progress *p);
