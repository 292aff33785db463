/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of any bytes: first the head, then the slots of its latest operations, then the slots
 * before those. The result can be used in a verdict on a hung job.
 */
#include <stdlib.h>

#include "agents/assayd/ring_hang.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/ring/ring_read.h"
#include "tests/fuzz/fuzz.h"

#define NOW_NS UINT64_C(50000000000000)

/* The size of the plug-in's fields; after them are assayd's, and times that are only copied. */
#define SAID offsetof(struct ring_head, wants)

/* Copies the head but sets the fields every ring has; otherwise no input would pass the checks. */
static uint64_t lay_out(const uint8_t *data, size_t size, uint8_t *ring)
{
	const size_t n = MIN(size, SAID);
	struct ring_head *h = (struct ring_head *)(void *)ring;
	uint64_t next, number;
	size_t at, length;

	memcpy(ring, data, n);
	if (h->version != 0x7a7a7a7a) {
		h->magic = RING_MAGIC;
		h->version = RING_VERSION;
		h->head_size = RING_HEAD_SIZE;
		h->slot_size = RING_SLOT_SIZE;
		h->n_slots = RING_SLOTS;
	}
	next = h->next;
	for (at = n, number = next - 1; at < size; at += length, number--) {
		uint8_t *slot = ring + RING_HEAD_SIZE + number % RING_SLOTS * RING_SLOT_SIZE;

		length = MIN(size - at, sizeof(struct ring_slot));
		memcpy(slot, data + at, length);
	}
	return next;
}

static void check_op(const struct ring_op *op, uint64_t next)
{
	FUZZ_CHECK(op->number < next && next - op->number <= RING_SLOTS);
	FUZZ_CHECK(op->func < RING_FUNCS && op->stopped <= op->started &&
		   op->started <= RING_CHANNELS);
	FUZZ_CHECK(op->bytes <= RING_READ_BYTES_MAX && op->peer >= -1);
	FUZZ_CHECK(op->enqueued_ns && op->enqueued_ns <= NOW_NS + RING_READ_AHEAD_NS);
	FUZZ_CHECK(!op->gpu_stop_ns || op->gpu_start_ns <= op->gpu_stop_ns);
	FUZZ_CHECK(strnlen(op->name, sizeof(op->name)) < sizeof(op->name));
}

static void check_hang(const struct ring_comm *comm, const struct ring_op *ops, size_t n)
{
	const struct ring_hang_ring ring = {
		.rank = 3, .comm = comm, .ops = ops, .n_ops = n, .since_ns = 1
	};
	json_t *groups = json_array(), *ranks = json_array();
	bool in_flight;
	char *text;

	ring_hang_add(&ring, 1, NOW_NS, groups, ranks);
	text = json_dumps(ranks, JSON_COMPACT);
	FUZZ_CHECK(text && strlen(text) < 4096 + RING_FUNCS * 256 + RING_HANG_OPS_MAX * 512);
	FUZZ_CHECK(ring_hang_moved_ns(&ring, NOW_NS, &in_flight) <= NOW_NS);
	free(text);
	json_decref(groups);
	json_decref(ranks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint64_t words[RING_SIZE / 8];
	static struct ring_op ops[RING_SLOTS];
	struct ring_read_counts counts = { 0 };
	struct ring_comm comm;
	struct err err = ERR_INIT;
	uint64_t next;
	size_t n, i;
	int r;

	memset(words, 0, sizeof(words));
	next = lay_out(data, size, (uint8_t *)words);
	r = ring_read_head(words, &comm, &err);
	if (r < 0) {
		fuzz_refused(r, &err);
		return 0;
	}
	FUZZ_CHECK(comm.rank >= -1 && comm.n_ranks <= RING_READ_RANKS_MAX);
	n = ring_read_ops(words, 0, NOW_NS, ops, &counts);
	FUZZ_CHECK(n + counts.torn + counts.absurd == MIN(next, (uint64_t)RING_SLOTS));
	for (i = 0; i < n; i++) {
		check_op(&ops[i], next);
		FUZZ_CHECK(i == 0 || ops[i].number > ops[i - 1].number);
	}
	check_hang(&comm, ops, n);
	return 0;
}
