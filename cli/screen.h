/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In-place display on the terminal's alternate screen, so that the previous contents are restored
 * afterwards.
 */
#pragma once

#include <stdio.h>

#include "lib/base/macro.h"

struct screen {
	FILE *out; /* borrowed; a terminal */
	bool on;
};

/* Is `out` a terminal that can be redrawn? */
bool screen_is_possible(FILE *out);

void screen_begin(struct screen *s);

/* Show `text` from the top left. The last row gives the number of lines that do not fit. */
void screen_draw(struct screen *s, const char *text);

/* Restore the terminal; does nothing if not begun. */
void screen_end(struct screen *s);
