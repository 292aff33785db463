/* SPDX-License-Identifier: Apache-2.0 */
/* Runs another program and reads its output, limited in size and time. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct strbuf;

/*
 * Run `argv` (argv[0] is a path) and append its stdout to `ret`, which limits the size. It gets no
 * input and no environment, and its stderr is discarded. It is killed at the monotonic
 * `deadline_us`, or if there is too much output. Returns its exit status, -ENOENT if there is no
 * such program, -ETIMEDOUT, -EFBIG, or -EINTR if a signal ended it.
 */
int child_read(char *const argv[], uint64_t deadline_us, struct strbuf *ret);
