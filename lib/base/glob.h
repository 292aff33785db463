/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shell patterns, safe for untrusted patterns and text: fnmatch(3) without flags in the C locale,
 * but in time linear in the length of the text for any pattern (fnmatch() backtracks at each `*`).
 * Pure.
 */
#pragma once

#include "lib/base/macro.h"

enum {
	GLOB_STEPS_MAX = 63, /* with wildcards: characters, ? and [...]; * does not count */
	GLOB_SETS_MAX = 8, /* [...] and escapes among them; each costs as much as all other steps */
	GLOB_BYTES_MAX = 255, /* of any pattern */
};

/*
 * True if the pattern is within the limits. Invalid syntax is matched literally, as by fnmatch().
 */
bool glob_ok(const char *pattern);

/* A pattern that is too long matches nothing. */
bool glob_match(const char *pattern, const char *text);
