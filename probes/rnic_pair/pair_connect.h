/* SPDX-License-Identifier: Apache-2.0 */
/* Does each direction of each pair connect, and do whole packets get through? */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"

struct err;
struct pair_job;
struct pair_want;

/* One small write and one of a full packet, each within PAIR_TRY_US. */
enum { PAIR_SMALL_BYTES = 64, PAIR_TRY_BYTES = 4096, PAIR_TRY_RETRIES = 3 };
/* Four tries of 67 ms, of which devices may make 268 each; and some to spare. */
#define PAIR_TRY_US (2 * USEC_PER_SEC)
#define PAIR_SMALL_WORDS "a write of 64 bytes"
#define PAIR_FULL_WORDS "a write of one full packet"
/* bytes, from, to, bytes */
#define PAIR_SMALLER_WORDS                                                                     \
	"packets of %u bytes do not get from %s to %s, but those of %u do: something between " \
	"them has a smaller MTU; set the same MTU on all ports and switches"

/* Queue pairs that its rates are measured with: as asked for, else as suits the slower port. */
unsigned pair_job_queues(const struct pair_job *job);

/* Tried when full packets are lost, up to a 0: steps that switches are set to. */
extern const unsigned pair_smaller_mtus[];

/* Open both ends of a job in this process and connect them; pair_part() in any case. */
int pair_join(struct pair_job *job, const struct pair_want *want, struct err *err);
void pair_part(struct pair_job *job);

/*
 * Connect all jobs, write 64 bytes through each and then a full packet, all at
 * once, by the deadline; fills their verdicts and leaves no lanes open.
 */
void pair_connect_all(struct pair_job *jobs, size_t n, uint64_t deadline_us);
