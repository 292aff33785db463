/* SPDX-License-Identifier: Apache-2.0 */
/* Resource usage of this process, for /metrics. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct process_use {
	double start_s;	  /* UNIX time of process_use_begin() */
	double cpu_s;	  /* user and system */
	uint64_t bytes;	  /* resident memory */
	uint64_t fds;	  /* open file descriptors */
	uint64_t fds_max; /* their limit */
};

/* Call it at the start of the process. */
void process_use_begin(void);

/* Values that cannot be read are 0. */
void process_use_read(struct process_use *ret);
