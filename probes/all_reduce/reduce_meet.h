/* SPDX-License-Identifier: Apache-2.0 */
/* How the ranks connect: all dial rank 0. */
#pragma once

#include <stdint.h>

struct err;
struct reduce_session;

/* Listen on the first address, or dial it. -EINVAL: invalid address. */
int reduce_meet(struct reduce_session *s, uint64_t deadline_us, struct err *err);
