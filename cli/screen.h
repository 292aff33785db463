/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A terminal redrawn in place: the other screen of the terminal, so that what
 * was there before is there again afterwards.
 */
#pragma once

#include <stdio.h>

#include "lib/base/macro.h"

struct screen {
	FILE *out; /* borrowed; a terminal */
	bool on;
};

/* True when `out` is a terminal that can be redrawn. */
bool screen_is_possible(FILE *out);

void screen_begin(struct screen *s);

/*
 * Show `text` from the top left. Lines that the terminal has no room for are
 * counted in the last row.
 */
void screen_draw(struct screen *s, const char *text);

/* Give the terminal back as it was; nothing when it was not taken. */
void screen_end(struct screen *s);
