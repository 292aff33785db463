/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles SIGINT and SIGTERM so that a run ends cleanly: terminal restored, no half-written
 * files. The first signal is only recorded; a second one ends the program at once.
 */
#pragma once

#include "lib/base/macro.h"

/* Install the handlers. */
void stop_init(void);

/* The signal received, or 0. */
int stop_signal(void);

/*
 * Die from the signal received, as its sender expects. The supervisors notice and kill their
 * probes with all descendants.
 */
void stop_die(void);
