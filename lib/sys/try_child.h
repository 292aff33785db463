/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries something in a child process, silently, to find out whether it would crash or hang: for
 * libraries that do not survive every file.
 */
#pragma once

#include "lib/base/macro.h"

/*
 * Returns 0 if `act(arg)` returned true, -EINVAL if false, -EFAULT if it crashed, -ETIMEDOUT if it
 * took longer than `limit_s` (at least 1), or the errno if no child could be started. Only for
 * single-threaded programs.
 */
int try_child(bool (*act)(const void *arg), const void *arg, unsigned limit_s);
