/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/pair_fabric.h"

#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/test.h"

static bool core_is_kept;

/* In the place of the C library's. */
int sched_yield(void)
{
	return core_is_kept ? 0 : (int)syscall(SYS_sched_yield);
}

void pair_fabric_keep_core(void)
{
	core_is_kept = true;
}

void pair_fabric_open(struct pair_fabric *f, size_t n)
{
	size_t i;

	*f = (struct pair_fabric){
		.sim = rdma_sim_make(),
		.options = { .gid_index = -1,
			     .size = 65536,
			     .qps = 1,
			     .depth = 128,
			     .service = { .pkey_index = -1 } },
		.node = { .total_bytes = 1 },
		.n = n,
	};
	f->ops = *f->sim.engine.ops;
	f->sim.engine.ops = &f->ops;
	f->host = (struct numa_host){ .nodes = &f->node, .n = 1 };
	f->sim.n_ports = n;
	for (i = 0; i < n; i++) {
		f->sim.ports[i] = f->sim.ports[0];
		(void)snprintf(f->sim.ports[i].device, RDMA_NAME_SIZE, "sim%zu", i);
		f->sides[i] = (struct pair_side){ .engine = &f->sim.engine,
						  .options = &f->options,
						  .port = &f->sim.ports[i],
						  .rail = (unsigned)i };
		pair_side_open(&f->sides[i], &f->host, PAIR_FABRIC_BYTES);
		CHECK_STR(f->sides[i].err.msg, "");
	}
}

void pair_fabric_reopen(struct pair_fabric *f, size_t side)
{
	pair_side_close(&f->sides[side]);
	pair_side_open(&f->sides[side], &f->host, PAIR_FABRIC_BYTES);
}

void pair_fabric_close(struct pair_fabric *f)
{
	size_t i;

	core_is_kept = false;
	for (i = 0; i < f->n; i++)
		pair_side_close(&f->sides[i]);
	CHECK_EQ(f->sim.open_devices + f->sim.open_regions + f->sim.open_queues, 0);
}
