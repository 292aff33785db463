/* SPDX-License-Identifier: Apache-2.0 */
/* A question before something is done, on standard error: the answer alone is the output. */
#pragma once

#include "lib/base/macro.h"

/*
 * Ask "QUESTION Continue? [y/N] " and read a line: of standard input, or of the terminal itself
 * where `terminal`. True for y and yes; no answer is no.
 */
bool confirm(const char *question, bool terminal);
