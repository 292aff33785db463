/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ring/ring_read.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/ring/ring_func.h"
#include "tests/unit/random.h"
#include "tests/unit/ring_forge.h"
#include "tests/unit/test.h"

static struct forge ring;
static struct ring_op ops[RING_SLOTS];

static size_t read_all(uint64_t from, struct ring_read_counts *counts)
{
	return ring_read_ops(&ring, from, FORGE_NOW_NS, ops, counts);
}

static void a_head_is_read(void)
{
	struct ring_comm comm;
	struct err err = ERR_INIT;

	forge_init(&ring);
	forge_put(&ring, 6);
	atomic_store(&forge_head(&ring)->finalized, 7);
	CHECK_EQ(ring_read_head(&ring, &comm, &err), 0);
	CHECK(comm.comm_id == UINT64_C(0x0a1b2c3d4e5f6071));
	CHECK_EQ(comm.n_ranks, 4);
	CHECK_EQ(comm.rank, 1);
	CHECK_EQ(comm.begun, 7);
	CHECK(comm.finalized);
	CHECK_STR(comm.name, "default_pg");
	/* Version 3 of the interface tells neither at first. */
	forge_head(&ring)->n_ranks = forge_head(&ring)->n_nodes = 0;
	forge_head(&ring)->rank = -1;
	CHECK_EQ(ring_read_head(&ring, &comm, &err), 0);
}

static void refused(const char *words)
{
	struct ring_comm comm;
	struct err err = ERR_INIT;

	CHECK_EQ(ring_read_head(&ring, &comm, &err), -EPROTO);
	CHECK_HAS(err.msg, words);
	forge_init(&ring);
}

static void a_head_that_is_none_is_refused(void)
{
	forge_init(&ring);
	forge_head(&ring)->magic++;
	refused("version 1");
	forge_head(&ring)->version = 2;
	refused("version 1");
	forge_head(&ring)->head_size = 0;
	refused("sizes");
	forge_head(&ring)->slot_size = 1 << 30;
	refused("sizes");
	forge_head(&ring)->n_slots = 1 << 30;
	refused("sizes");
	forge_head(&ring)->rank = 4;
	refused("no rank 4 of 4");
	forge_head(&ring)->rank = -2;
	refused("no rank -2");
	forge_head(&ring)->n_ranks = RING_READ_RANKS_MAX + 1;
	refused("no rank");
	forge_head(&ring)->n_ranks = INT32_MIN;
	refused("no rank");
	forge_head(&ring)->n_nodes = 5;
	refused("5 hosts");
}

static void a_name_that_drives_a_terminal_is_none(void)
{
	struct ring_comm comm;
	struct err err = ERR_INIT;

	forge_init(&ring);
	memcpy(forge_head(&ring)->name, "a\033[2J", 6);
	CHECK_EQ(ring_read_head(&ring, &comm, &err), 0);
	CHECK_STR(comm.name, "");
	memset(forge_head(&ring)->name, 'a', RING_NAME_SIZE); /* without an end */
	CHECK_EQ(ring_read_head(&ring, &comm, &err), 0);
	CHECK_STR(comm.name, "");
}

static void operations_are_read_in_their_order(void)
{
	struct ring_read_counts counts = { 0 };
	uint64_t number;

	forge_init(&ring);
	CHECK_EQ(read_all(0, &counts), 0);
	for (number = 0; number < 10; number++)
		forge_put(&ring, number);
	CHECK_EQ(read_all(0, &counts), 10);
	CHECK_EQ(ops[9].number, 9);
	CHECK_EQ(ops[9].seq, 9);
	CHECK_EQ(ops[9].bytes, 9);
	CHECK_EQ(ops[9].gpu_stop_ns, 11);
	CHECK_STR(ops[9].name, "AllReduce");
	CHECK_EQ(read_all(7, &counts), 3);
	CHECK_EQ(ops[0].number, 7);
	CHECK_EQ(read_all(10, &counts), 0);
	CHECK_EQ(read_all(UINT64_MAX, &counts), 0);
	for (; number < 3 * RING_SLOTS + 5; number++)
		forge_put(&ring, number);
	CHECK_EQ(read_all(0, &counts), RING_SLOTS);
	CHECK_EQ(ops[0].number, 2 * RING_SLOTS + 5);
	CHECK_EQ(counts.torn + counts.absurd, 0);
}

/* What makes an operation absurd. */
static void forge_func(struct ring_slot *s)
{
	s->func = RING_FUNCS;
}
static void forge_wait(struct ring_slot *s)
{
	s->wait = 13;
}
static void forge_flags(struct ring_slot *s)
{
	s->flags = 16;
}
static void forge_peer(struct ring_slot *s)
{
	s->peer = -2;
}
static void forge_far_peer(struct ring_slot *s)
{
	s->peer = INT32_MAX;
}
static void forge_started(struct ring_slot *s)
{
	s->started = s->stopped = RING_CHANNELS + 1;
}
static void forge_stopped(struct ring_slot *s)
{
	s->started = 7;
}
static void forge_done(struct ring_slot *s)
{
	s->stopped = 7;
}
static void forge_count(struct ring_slot *s)
{
	s->count = UINT64_MAX;
}
static void forge_bytes(struct ring_slot *s)
{
	s->count = RING_READ_BYTES_MAX, s->element_size = 2;
}
static void forge_element(struct ring_slot *s)
{
	s->element_size = 255;
}
static void forge_seq(struct ring_slot *s)
{
	s->seq = UINT64_MAX;
}
static void forge_no_time(struct ring_slot *s)
{
	s->enqueued_ns = 0;
}
static void forge_future(struct ring_slot *s)
{
	s->enqueued_ns = FORGE_NOW_NS + 2 * RING_READ_AHEAD_NS;
}
/* Nor has it started. */
static void forge_future_alone(struct ring_slot *s)
{
	forge_future(s);
	s->host_start_ns = s->host_stop_ns = s->gpu_start_ns = s->gpu_stop_ns = 0;
	s->started = s->stopped = 0;
	s->flags = 0;
}
static void forge_early(struct ring_slot *s)
{
	s->host_start_ns = s->enqueued_ns - 1;
}
static void forge_stop(struct ring_slot *s)
{
	s->host_stop_ns = s->host_start_ns - 1;
}
static void forge_no_start(struct ring_slot *s)
{
	s->gpu_start_ns = 0;
}
static void forge_gpu(struct ring_slot *s)
{
	s->gpu_start_ns = s->gpu_stop_ns + 1;
}
static void forge_long(struct ring_slot *s)
{
	s->gpu_stop_ns = UINT64_MAX;
}
static void forge_name(struct ring_slot *s)
{
	s->func = RING_OTHER;
	s->func_name[0] = '\033';
}
static void forge_endless(struct ring_slot *s)
{
	s->func = RING_OTHER;
	memset(s->func_name, 'a', 20);
}

static void what_cannot_be_is_dropped_and_counted(void)
{
	static void (*const forgeries[])(struct ring_slot *) = {
		forge_func,    forge_wait,	   forge_flags,	  forge_peer,	forge_far_peer,
		forge_started, forge_stopped,	   forge_done,	  forge_count,	forge_bytes,
		forge_element, forge_seq,	   forge_no_time, forge_future, forge_early,
		forge_stop,    forge_no_start,	   forge_gpu,	  forge_long,	forge_name,
		forge_endless, forge_future_alone,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(forgeries); i++) {
		struct ring_read_counts counts = { 0 };

		forge_init(&ring);
		forge_put(&ring, 0);
		forge_put(&ring, 1);
		forge_put(&ring, 2);
		forgeries[i](forge_slot(&ring, 1));
		CHECK_EQ(read_all(0, &counts), 2);
		CHECK_EQ(counts.absurd, 1);
		CHECK_EQ(counts.torn, 0);
		CHECK_EQ(ops[1].number, 2);
	}
}

static void what_is_being_written_is_dropped_and_counted(void)
{
	struct ring_read_counts counts = { 0 };

	forge_init(&ring);
	forge_put(&ring, 0);
	forge_put(&ring, 1);
	atomic_store(&forge_slot(&ring, 0)->stamp, 0);
	CHECK_EQ(read_all(0, &counts), 1);
	CHECK_EQ(counts.torn, 1);
	/* A number that nothing was written for. */
	atomic_store(&forge_head(&ring)->next, UINT64_C(1) << 50);
	CHECK_EQ(read_all(0, &counts), 0);
	atomic_store(&forge_head(&ring)->next, UINT64_MAX);
	CHECK_EQ(read_all(0, &counts), 0);
	CHECK_EQ(counts.torn, 1 + 2 * RING_SLOTS);
}

/* --- meanwhile --- */

static atomic_bool over;

static size_t writes;

/* Into one slot all the time, so that who reads it meets it half written. */
static void *write_on(void *context UNUSED)
{
	uint64_t i, j;

	for (i = 0; i < writes; i++) {
		forge_put(&ring, i * RING_SLOTS);
		for (j = 0; j < i % 64; j++) /* it stands for a moment */
			(void)atomic_load(&over);
	}
	atomic_store(&over, true);
	return NULL;
}

static bool is_of_one(const struct ring_op *op)
{
	return op->seq == op->number && op->bytes == op->number &&
	       op->gpu_start_ns == op->number + 1 && op->gpu_stop_ns == op->number + 2;
}

static void a_copy_is_of_one_moment(void)
{
	struct ring_read_counts counts = { 0 };
	size_t taken = 0, wrong = 0, i, n;
	pthread_t thread;
	bool last;

	forge_init(&ring);
	writes = test_times(20000000, 4000000);
	atomic_store(&over, false);
	CHECK_EQ(pthread_create(&thread, NULL, write_on, NULL), 0);
	do {
		last = atomic_load(&over);
		n = read_all(atomic_load(&forge_head(&ring)->next) - 1, &counts);
		taken += n;
		for (i = 0; i < n; i++)
			wrong += !is_of_one(&ops[i]);
	} while (!last);
	(void)pthread_join(thread, NULL);
	CHECK_EQ(wrong, 0);
	CHECK_EQ(counts.absurd, 0);
	CHECK(taken > 0);
}

static void *scribble(void *context UNUSED)
{
	struct random r = random_seeded(7);
	size_t i;

	while (!atomic_load(&over)) {
		for (i = 0; i < 1000; i++) {
			const size_t at = 32 + (size_t)random_below(&r, RING_SIZE / 8 - 32);
			const uint64_t word = random_below(&r, 4) ? random_below(&r, RING_SLOTS + 2)
								  : random_next(&r);

			__atomic_store_n(&ring.words[at], word, __ATOMIC_RELAXED);
		}
		forge_put(&ring, random_below(&r, RING_SLOTS));
	}
	return NULL;
}

static bool is_sane(const struct ring_op *op)
{
	return op->func < RING_FUNCS && op->stopped <= op->started &&
	       op->started <= RING_CHANNELS && op->enqueued_ns &&
	       op->enqueued_ns <= FORGE_NOW_NS + RING_READ_AHEAD_NS &&
	       op->gpu_start_ns <= op->gpu_stop_ns + (op->gpu_stop_ns ? 0 : UINT64_MAX) &&
	       op->bytes <= RING_READ_BYTES_MAX && op->peer >= -1 && memchr(op->name, 0, 20);
}

static void whoever_scribbles_meanwhile_harms_nobody(void)
{
	struct ring_read_counts counts = { 0 };
	const size_t times = test_times(3000, 150);
	size_t i, j, n, wrong = 0;
	struct ring_comm comm;
	struct err err = ERR_INIT;
	pthread_t thread;

	forge_init(&ring);
	atomic_store(&over, false);
	CHECK_EQ(pthread_create(&thread, NULL, scribble, NULL), 0);
	for (i = 0; i < times; i++) {
		(void)ring_read_head(&ring, &comm, &err);
		n = read_all(0, &counts);
		CHECK(n <= RING_SLOTS);
		for (j = 0; j < n; j++)
			wrong += !is_sane(&ops[j]) || (j && ops[j].number <= ops[j - 1].number);
	}
	atomic_store(&over, true);
	(void)pthread_join(thread, NULL);
	CHECK_EQ(wrong, 0);
}

static void functions_have_names(void)
{
	size_t i;

	for (i = 1; i < RING_FUNCS; i++)
		CHECK_EQ(ring_func_find(ring_func_names[i]), i);
	CHECK_EQ(ring_func_find("AllReduceX"), RING_OTHER);
	CHECK_EQ(ring_func_find(""), RING_OTHER);
	CHECK(ring_func_is_p2p(RING_RECV) && !ring_func_is_p2p(RING_REDUCE));
}

static const struct test tests[] = {
	TEST(a_head_is_read),
	TEST(a_head_that_is_none_is_refused),
	TEST(a_name_that_drives_a_terminal_is_none),
	TEST(operations_are_read_in_their_order),
	TEST(what_cannot_be_is_dropped_and_counted),
	TEST(what_is_being_written_is_dropped_and_counted),
	TEST(a_copy_is_of_one_moment),
	TEST(whoever_scribbles_meanwhile_harms_nobody),
	TEST(functions_have_names),
};

TEST_SUITE(tests);
