/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/policy_mode.h"

#include <stddef.h>

const char *const policy_mode_names[] = {
	[MODE_OBSERVE] = "observe",
	[MODE_DRY_RUN] = "dry-run",
	[MODE_ENFORCE] = "enforce",
	NULL,
};
