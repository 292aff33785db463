/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of one node made ready to be measured: mapped, touched, its array
 * size found, its place verified.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "probes/memory/buffer.h"
#include "probes/memory/rate.h"

struct err;
struct numa_node;

/* What is known before. */
struct ready_wish {
	const struct numa_node *node;
	bool only_node;	     /* the host has no other memory */
	uint64_t free_bytes; /* that may be counted on */
	uint64_t llc_bytes;  /* caches of the cores that measure it; 0: not known for sure */
	uint64_t last_bytes; /* size that the last run found; 0: none */
	uint64_t deadline_us;
};

struct ready {
	struct buffer buffer;
	uint64_t array_bytes; /* found */
	bool settled;	      /* two sizes agreed */
	bool cached;	      /* caches known to be as large hold much of it */
	const char *pages;    /* "4k", "2M" or "1G" */
};

/*
 * Make the memory of `wish->node` ready with the threads of `team`. -ETIME when
 * the time was too short, -ENOMEM when there is too little memory; anything
 * else is about placing it. Close it with ready_close() to give it back.
 */
int ready_open(const struct ready_wish *wish, struct team *team, const struct kernel *kernel,
	       struct ready *ret, struct err *err);
void ready_close(struct ready *ready);
