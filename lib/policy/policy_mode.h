/* SPDX-License-Identifier: Apache-2.0 */
/* How far what is decided goes. Of two modes the more cautious holds: the lower number. */
#pragma once

enum policy_mode {
	MODE_OBSERVE, /* only tell */
	MODE_DRY_RUN, /* also what would be done */
	MODE_ENFORCE, /* do it */
};
extern const char *const policy_mode_names[]; /* "observe" "dry-run" "enforce" */
