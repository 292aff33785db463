/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that each direction of each pair connects and that full packets get through. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"

struct err;
struct pair_job;
struct pair_want;

/* A small write, then a full packet, each within PAIR_TRY_US. */
enum { PAIR_SMALL_BYTES = 64, PAIR_TRY_BYTES = 4096, PAIR_TRY_RETRIES = 3 };
/* Four tries of 67 ms, which devices may stretch to 268 ms, and some slack. */
#define PAIR_TRY_US (2 * USEC_PER_SEC)
#define PAIR_SMALL_WORDS "a write of 64 bytes"
#define PAIR_FULL_WORDS "a write of one full packet"
/* bytes, from, to, bytes */
#define PAIR_SMALLER_WORDS                                                                     \
	"packets of %u bytes do not get from %s to %s, but those of %u do: something between " \
	"them has a smaller MTU; set the same MTU on all ports and switches"

/* Number of queue pairs for the job's rates: as given, or as suits the slower port. */
unsigned pair_job_queues(const struct pair_job *job);

/* MTUs to try if full packets are lost, typical switch settings; terminated by 0. */
extern const unsigned pair_smaller_mtus[];

/* Open and connect both ends of a job in this process. Call pair_part() in any case. */
int pair_join(struct pair_job *job, const struct pair_want *want, struct err *err);
void pair_part(struct pair_job *job);

/*
 * Connect all jobs, then write 64 bytes and then a full packet through each, all at once, by the
 * deadline. Fills in their verdicts and leaves no lanes open.
 */
void pair_connect_all(struct pair_job *jobs, size_t n, uint64_t deadline_us);
