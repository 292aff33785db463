/* SPDX-License-Identifier: Apache-2.0 */
/* Confirmation prompts, on stderr so that stdout only has the output. */
#pragma once

#include "lib/base/macro.h"

/*
 * Ask "QUESTION Continue? [y/N] " and read a line from stdin, or from the terminal itself if
 * `terminal`. True for y and yes; end of file means no.
 */
bool confirm(const char *question, bool terminal);
