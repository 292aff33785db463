/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/ticks.h"

#include <stddef.h>

#if defined(__x86_64__)

static uint64_t read_counter(struct rdma_engine *e)
{
	(void)e;
	return __builtin_ia32_rdtsc();
}

uint64_t (*const ticks_read)(struct rdma_engine *) = read_counter;

#elif defined(__aarch64__)

static uint64_t read_counter(struct rdma_engine *e)
{
	uint64_t value;

	(void)e;
	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(value));
	return value;
}

uint64_t (*const ticks_read)(struct rdma_engine *) = read_counter;

#else

uint64_t (*const ticks_read)(struct rdma_engine *) = NULL;

#endif
