/* SPDX-License-Identifier: Apache-2.0 */
/* What this process takes of its host, for /metrics. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct process_use {
	double start_s;	  /* UNIX time of process_use_begin() */
	double cpu_s;	  /* user and system */
	uint64_t bytes;	  /* resident memory */
	uint64_t fds;	  /* open file descriptors */
	uint64_t fds_max; /* how many there may be */
};

/* The process starts now. */
void process_use_begin(void);

/* What cannot be read is 0. */
void process_use_read(struct process_use *ret);
