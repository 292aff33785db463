/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probes of this suite by name. Which of them a build has depends on the libraries it found:
 * a missing program is "not built here", not a failure.
 */
#pragma once

#include "lib/base/macro.h"

/* NULL-terminated, in the order they are listed to users. */
extern const char *const suite_probes[];

/* Is the name in the table? */
bool suite_has(const char *name);

/* Path of the program of a probe of this suite, whether it exists or not. The caller frees it. */
char *suite_path(const char *name);

/* Is `path` an executable program? */
bool suite_can_start(const char *path);
