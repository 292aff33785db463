/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench LIBRARY [COUNT]: measures each call of the profiler plug-in.
 *
 * Prints one JSON line: for each call the median and 99th percentile in nanoseconds, by a clock
 * read before and after it, minus the median of two clock reads in a row; the mean of consecutive
 * calls; and the full cost of that clock read, as a yardstick.
 */
#include <poll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/macro.h"
#include "plugins/nccl/profiler_handover.h"
#include "tests/nccl/harness.h"

enum { COUNT = 200000, CHANNELS = 24, OFFERS = 1000 };

struct bench {
	struct fake_nccl nccl;
	struct fake_comm comm;
	struct profiler_event_v5 group, coll, kernel, proxy, step;
	union profiler_state_args args;
	void *op, *channel, *proxy_handle, *step_handle, *unused;
	uint64_t clock;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static void nothing(struct bench *b)
{
	(void)b;
}

static void start_group(struct bench *b)
{
	b->nccl.v5->start(b->comm.context, &b->unused, &b->group);
}

static void start_coll(struct bench *b)
{
	b->coll.coll.seq++;
	b->nccl.v5->start(b->comm.context, &b->op, &b->coll);
}

static void stop_coll(struct bench *b)
{
	b->nccl.v5->stop(b->op);
}

static void start_kernel(struct bench *b)
{
	b->kernel.parent = b->op;
	b->kernel.kernel_ch.channel = (uint8_t)(b->clock % CHANNELS);
	b->kernel.kernel_ch.gpu_ns = ++b->clock;
	b->nccl.v5->start(b->comm.context, &b->channel, &b->kernel);
}

static void state_kernel(struct bench *b)
{
	b->args.gpu_ns = ++b->clock;
	b->nccl.v5->record(b->channel, PROFILER_KERNEL_CH_STOP, &b->args);
}

static void stop_kernel(struct bench *b)
{
	b->nccl.v5->stop(b->channel);
}

static void start_proxy(struct bench *b)
{
	b->proxy.parent = b->op;
	b->nccl.v5->start(b->comm.context, &b->proxy_handle, &b->proxy);
}

static void start_step(struct bench *b)
{
	b->step.parent = b->proxy_handle;
	b->nccl.v5->start(b->comm.context, &b->step_handle, &b->step);
}

static void state_step(struct bench *b)
{
	b->nccl.v5->record(b->step_handle, RING_WAIT_RECV, &b->args);
}

static void stop_proxy(struct bench *b)
{
	b->nccl.v5->stop(b->proxy_handle);
}

/* `before` prepares the call and is not measured. */
static const struct {
	const char *name;
	void (*call)(struct bench *b), (*before)(struct bench *b);
} calls[] = {
	{ "clock read twice", nothing, nothing },
	{ "start of a group", start_group, nothing },
	{ "start of a collective", start_coll, nothing },
	{ "stop of a collective", stop_coll, nothing },
	{ "start of a kernel", start_kernel, start_coll },
	{ "start of another channel", start_kernel, nothing },
	{ "state of a kernel", state_kernel, start_kernel },
	{ "stop of a kernel", stop_kernel, nothing },
	{ "start of a proxy", start_proxy, nothing },
	{ "start of a step", start_step, nothing },
	{ "state of a step", state_step, nothing },
	{ "stop of a proxy", stop_proxy, start_proxy },
};

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Prints the row. Returns the uncorrected median. */
static uint64_t measure(struct bench *b, size_t which, uint64_t *times, size_t n, uint64_t empty)
{
	uint64_t start, whole = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		calls[which].before(b);
		start = now_ns();
		calls[which].call(b);
		times[i] = now_ns() - start;
	}
	qsort(times, n, sizeof(*times), by_size);
	if (calls[which].before == nothing) {
		start = now_ns();
		for (i = 0; i < n; i++)
			calls[which].call(b);
		whole = now_ns() - start;
	}
	printf("{\"call\": \"%s\", \"median\": %lld, \"p99\": %lld, \"mean\": %.1f}",
	       calls[which].name, (long long)times[n / 2] - (long long)empty,
	       (long long)times[n - n / 100 - 1] - (long long)empty, (double)whole / (double)n);
	return times[n / 2];
}

/* Measures a call that hands a ring over again, with a pause after each, as in reality. */
static void measure_again(const char *name, uint64_t *times, uint64_t empty)
{
	const int ring = memfd_create("assay-ring", MFD_CLOEXEC);
	struct sockaddr_un where;
	uint64_t start;
	size_t i;

	CHECK(ring >= 0 && ftruncate(ring, RING_SIZE) == 0 && profiler_handover_where(&where) == 0);
	for (i = 0; i < OFFERS; i++) {
		start = now_ns();
		(void)profiler_handover_again(&where, ring);
		times[i] = now_ns() - start;
		poll(NULL, 0, 1);
	}
	close(ring);
	qsort(times, OFFERS, sizeof(*times), by_size);
	printf("{\"call\": \"%s\", \"median\": %lld, \"p99\": %lld}", name,
	       (long long)(times[OFFERS / 2] - empty),
	       (long long)(times[OFFERS * 99 / 100] - empty));
}

static void set_up(struct bench *b, const char *library, uint32_t mask)
{
	CHECK(fake_load(&b->nccl, library, 5) && b->nccl.api == 5);
	fake_assayd_manner(FAKE_TAKES, mask);
	fake_comm_open(&b->nccl, &b->comm, 1, 0, 8, 1);
	CHECK(b->comm.context);
	b->clock = 1;
	b->group = (struct profiler_event_v5){ .type = PROFILER_GROUP_API };
	b->coll = (struct profiler_event_v5){ .type = PROFILER_COLL,
					      .coll = { .func = "ReduceScatter",
							.count = 1 << 20,
							.datatype = "ncclBfloat16",
							.channels = CHANNELS,
							.algo = "RING",
							.proto = "SIMPLE" } };
	b->kernel = (struct profiler_event_v5){ .type = PROFILER_KERNEL_CH };
	b->proxy = (struct profiler_event_v5){ .type = PROFILER_PROXY_OP,
					       .proxy_op = { .pid = getpid() } };
	b->step = (struct profiler_event_v5){ .type = PROFILER_PROXY_STEP };
}

int main(int argc, char **argv)
{
	const size_t n = argc > 2 ? (size_t)strtoull(argv[2], NULL, 10) : COUNT;
	uint64_t *times = calloc(n, sizeof(*times)), empty;
	struct bench b = { 0 }, idle = { 0 };
	size_t i;

	if (argc < 2 || !times || n < 1000) {
		fprintf(stderr, "usage: bench LIBRARY [COUNT, 1000 or more]\n");
		return 2;
	}
	fake_assayd_start();
	set_up(&b, argv[1], MASK_ALL);
	printf("{\"clock\": ");
	empty = measure(&b, 0, times, n, 0);
	printf(", \"calls\": [");
	for (i = 1; i < ARRAY_SIZE(calls); i++) {
		printf("%s", i > 1 ? ", " : "");
		measure(&b, i, times, n, empty);
	}
	set_up(&idle, argv[1], 0);
	printf("], \"idle\": [");
	measure(&idle, 2, times, n, empty);
	printf("], \"again\": [");
	fake_assayd_manner(FAKE_REFUSES, 0);
	measure_again("a ring handed over again", times, empty);
	printf(", ");
	fake_assayd_leave();
	measure_again("the same, nobody there", times, empty);
	printf("]}\n");
	fake_assayd_return();
	fake_assayd_stop();
	free(times);
	return 0;
}
