/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock between processes: flock(2) on a file. The kernel drops it when its
 * holder dies, so nothing can be left locked.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

/*
 * Open (making it) and lock `path` exclusively, waiting until the monotonic
 * `deadline_us` (0: do not wait). The descriptor is the lock: close it to
 * unlock. The file is for its owner alone: flock(2) asks for no more than the
 * right to read, and nobody else shall hold up what locks. -ETIMEDOUT when another holds it to the
 * end; the sentence in `err` names the holder's pid and command when the file tells it.
 */
int lock_take(const char *path, uint64_t deadline_us, int *ret_fd, struct err *err);

/*
 * True when the environment says that whoever started this process holds the
 * lock of active probes (ASSAY_LOCK_HELD=1): a child then must not take it.
 */
bool lock_held_for_us(void);
