/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shell patterns, for text and patterns of strangers: fnmatch(3) without flags in the C locale, but
 * in time that grows with the length of the text and no faster, whatever the pattern (fnmatch()
 * tries each `*` anew behind each other one). Pure.
 */
#pragma once

#include "lib/base/macro.h"

enum {
	GLOB_STEPS_MAX = 63,  /* of a pattern with wildcards: characters, ? and [...]; * is none */
	GLOB_SETS_MAX = 8,    /* [...] and escapes among them: each is as dear as all the rest */
	GLOB_BYTES_MAX = 255, /* of any pattern */
};

/* Is it short enough? Syntax that is none stands for itself, as fnmatch() has it. */
bool glob_ok(const char *pattern);

/* A pattern that is too long matches nothing. */
bool glob_match(const char *pattern, const char *text);
