/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGINT and SIGTERM, so that a run ends in order: the terminal clean, nothing
 * half-written. The first one is only noted; a second ends the program at once.
 */
#pragma once

#include "lib/base/macro.h"

/* Note them from now on. */
void stop_init(void);

/* The signal that came, or 0. */
int stop_signal(void);

/*
 * End this program by the signal that came, as whoever sent it expects. The
 * supervisors see that we are gone and kill their probes with all descendants.
 */
void stop_die(void);
