/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock between processes: flock(2) on a file. The kernel releases it when its holder dies, so
 * nothing stays locked.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

/*
 * Opens (and creates) `path` and locks it exclusively, waiting until the monotonic `deadline_us`
 * (0: does not wait). The descriptor is the lock: close it to unlock. The file is only accessible
 * to its owner: flock(2) needs no more than read permission, and nobody else should be able to
 * block us. -ETIMEDOUT if another process holds it; the message in `err` names the holder's pid and
 * command if the file has them.
 */
int lock_take(const char *path, uint64_t deadline_us, int *ret_fd, struct err *err);

/*
 * True if whoever started this process holds the lock of active probes (ASSAY_LOCK_HELD=1): then it
 * must not be taken.
 */
bool lock_held_for_us(void);
