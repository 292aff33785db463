/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/verdict.h"

const char *const verdict_level_names[] = {
	[VERDICT_PASS] = "pass",
	[VERDICT_INCONCLUSIVE] = "inconclusive",
	[VERDICT_WARN] = "warn",
	[VERDICT_FAIL] = "fail",
	NULL,
};
