/* SPDX-License-Identifier: Apache-2.0 */
/* How far decisions go. Of two modes the more cautious one, with the lower number, holds. */
#pragma once

enum policy_mode {
	MODE_OBSERVE, /* only report */
	MODE_DRY_RUN, /* also say what would be done */
	MODE_ENFORCE, /* do it */
};
extern const char *const policy_mode_names[]; /* "observe" "dry-run" "enforce" */
