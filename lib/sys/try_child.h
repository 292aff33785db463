/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do something first in a child process, silently, to learn whether it would
 * crash or hang: for libraries that do not survive every file.
 */
#pragma once

#include "lib/base/macro.h"

/*
 * 0 when `act(arg)` returned true, -EINVAL when false, -EFAULT when it
 * crashed, -ETIMEDOUT when it took longer than `limit_s` (at least 1), or why
 * no child could be started. Only for programs without threads.
 */
int try_child(bool (*act)(const void *arg), const void *arg, unsigned limit_s);
