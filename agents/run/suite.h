/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probes of this suite by name. Which of them a build has depends on the
 * libraries it found: a program that is not there is "not built here", which
 * is nobody's fault.
 */
#pragma once

#include "lib/base/macro.h"

/* NULL-terminated, in the order in which they are listed. */
extern const char *const suite_probes[];

/* True for a name of the table. */
bool suite_has(const char *name);

/* Path of the program of a probe of this suite, whether it is there or not. New memory. */
char *suite_path(const char *name);

/* True when a program can be started from `path`. */
bool suite_can_start(const char *path);
