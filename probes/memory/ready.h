/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of one node, ready to be measured: mapped, touched, sized, placement verified. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "probes/memory/buffer.h"
#include "probes/memory/rate.h"

struct err;
struct numa_node;

/* Input of ready_open(). */
struct ready_wish {
	const struct numa_node *node;
	bool only_node;	     /* the host has no other memory */
	uint64_t free_bytes; /* that can be relied on */
	uint64_t llc_bytes;  /* caches of the measuring cores; 0: not known for sure */
	uint64_t last_bytes; /* size found by the last run; 0: none */
	uint64_t deadline_us;
};

struct ready {
	struct buffer buffer;
	uint64_t array_bytes; /* as determined */
	bool settled;	      /* two sizes agreed */
	bool cached;	      /* caches known to be that large hold much of it */
	const char *pages;    /* "4k", "2M" or "1G" */
};

/*
 * Prepare the memory of `wish->node` with the threads of `team`. -ETIME if there was too little
 * time, -ENOMEM if there is too little memory; any other error is about placement. Release it with
 * ready_close().
 */
int ready_open(const struct ready_wish *wish, struct team *team, const struct kernel *kernel,
	       struct ready *ret, struct err *err);
void ready_close(struct ready *ready);
