/* SPDX-License-Identifier: Apache-2.0 */
/* Another program's output, bounded in size and time. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct strbuf;

/*
 * Run `argv` (argv[0] is a path) and append what it prints to `ret`, which
 * bounds it; it gets no input, and its words are thrown away. When the
 * monotonic `deadline_us` passes, or there is too much, it is killed. Its exit
 * status from 0; -ENOENT when there is no such program, -ETIMEDOUT, -EFBIG, -EINTR when it
 * ended by a signal.
 */
int child_read(char *const argv[], uint64_t deadline_us, struct strbuf *ret);
