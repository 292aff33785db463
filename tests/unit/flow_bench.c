/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/flow_bench.h"

#include "tests/unit/test.h"

char bench_memory[REGION];

void bench_open(struct bench *b, size_t queues, int wait)
{
	const struct rdma_queue_options o = { .port = 1,
					      .depth = DEPTH,
					      .events = wait == FLOW_EVENTS };
	const struct rdma_ops *ops;
	size_t i;

	b->sim = rdma_sim_make();
	ops = b->sim.engine.ops;
	CHECK_EQ(ops->open(&b->sim.engine, "sim0", &b->device, NULL), 0);
	b->flow = (struct flow){ .engine = &b->sim.engine,
				 .opcode = RDMA_WRITE,
				 .size = SIZE,
				 .depth = DEPTH,
				 .batch = BATCH,
				 .wait = wait };
	CHECK_EQ(ops->region_add(b->device, bench_memory, REGION, &b->flow.local, NULL), 0);
	CHECK_EQ(flow_open(&b->flow, b->device, &o, queues, NULL), 0);
	CHECK_EQ(b->flow.n_queues, queues);
	for (i = 0; i < queues; i++) {
		struct rdma_end end;

		ops->queue_end(b->flow.queues[i], &end);
		CHECK_EQ(ops->queue_connect(b->flow.queues[i], &end, NULL), 0);
	}
}

void bench_close(struct bench *b)
{
	const struct rdma_ops *ops = b->sim.engine.ops;

	flow_close(&b->flow);
	ops->region_remove(&b->flow.local);
	ops->close(b->device);
	CHECK_EQ(b->sim.open_devices + b->sim.open_regions + b->sim.open_queues, 0);
}

int bench_run_within(struct bench *b, uint64_t within_us, struct flow_result *ret)
{
	const struct flow_time time = { .warm_us = WARM_US,
					.windows = WINDOWS,
					.window_us = WINDOW_US,
					.until_done = true,
					.deadline_us = b->sim.now_ns / 1000 + within_us };
	struct flow_one one = { .flow = &b->flow };

	flow_run_many(&one, 1, &time);
	*ret = one.result;
	return one.error;
}

int bench_run(struct bench *b, struct flow_result *ret)
{
	return bench_run_within(b, PATIENCE_US, ret);
}
