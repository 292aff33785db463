/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/macro.h"
#include "tests/nccl/harness.h"

/* ---- what is recorded ------------------------------------------------------------------------ */

static void check_head(const struct harness *h, const struct ring_head *head)
{
	CHECK(head->magic == RING_MAGIC && head->version == RING_VERSION);
	CHECK(head->head_size == RING_HEAD_SIZE && head->slot_size == RING_SLOT_SIZE &&
	      head->n_slots == RING_SLOTS);
	CHECK(head->pid == (int)getpid() && head->api == (uint32_t)h->api &&
	      head->nccl == (uint32_t)fake_version);
	CHECK(head->mono_ns && head->real_ns > head->mono_ns);
	CHECK(head->rank == 3 && head->comm_id == 0xc0ffee && streq(head->name, "world"));
	if (h->api > 3)
		CHECK(head->n_ranks == 16 && head->n_nodes == 2);
}

static void plain(struct harness *h)
{
	struct fake_comm comm;
	const struct ring_head *head;
	struct fake_slot slot;
	void *op, *k[3];
	int c;

	harness_open(h, &comm, MASK_RECORD);
	CHECK(h->nccl.mask == MASK_RECORD);
	head = harness_ring();
	harness_coll(&comm, "AllGather", 7, 0);
	op = harness_coll(&comm, "AllReduce", 1024, 3);
	check_head(h, head);
	slot = harness_slot(head, 1);
	CHECK(slot.func == RING_ALL_REDUCE && streq(slot.func_name, "AllReduce") &&
	      slot.count == 1024 && slot.channels == 3);
	CHECK(slot.element_size == 2 && slot.algo == 'R' && slot.proto == 'S' && slot.peer == -1 &&
	      slot.seq == 1);
	CHECK(slot.enqueued_ns <= harness_now_ns() && slot.enqueued_ns > head->mono_ns);
	CHECK(slot.started == 0 && slot.stopped == 0 && !(slot.flags & RING_DONE) &&
	      !slot.host_start_ns);
	for (c = 0; c < 3; c++)
		k[c] = fake_start(&comm, op, c, 1000 + (uint64_t)(2 - c));
	slot = harness_slot(head, 1);
	CHECK(slot.started == 3 && slot.host_start_ns >= slot.enqueued_ns && !slot.host_stop_ns);
	for (c = 0; c < 3; c++)
		fake_stop(&h->nccl, k[c], 2000 + (uint64_t)(c % 2));
	slot = harness_slot(head, 1);
	CHECK(slot.stopped == 3 && (slot.flags & RING_DONE) &&
	      slot.host_stop_ns >= slot.host_start_ns);
	if (h->api > 3)
		CHECK(slot.gpu_start_ns == 1000 && slot.gpu_stop_ns == 2001 &&
		      slot.flags == RING_DONE);
	else
		CHECK(!slot.gpu_start_ns && !slot.gpu_stop_ns &&
		      slot.flags == (RING_DONE | RING_NO_GPU));
	CHECK(head->next == 2 && head->beat_ns >= slot.host_stop_ns && !head->finalized);
	CHECK(!head->late_calls && !head->lost && !head->bad_stamps);
	fake_comm_close(&comm);
	CHECK(head->finalized == 1 && head->mask == 0 && h->nccl.mask == 0);
}

static void names(struct harness *h)
{
	static const struct {
		const char *name;
		enum ring_func func;
	} rows[] = {
		{ "AllReduce", RING_ALL_REDUCE },
		{ "AllGather", RING_ALL_GATHER },
		{ "ReduceScatter", RING_REDUCE_SCATTER },
		{ "Broadcast", RING_BROADCAST },
		{ "Reduce", RING_REDUCE },
		{ "Send", RING_SEND },
		{ "Recv", RING_RECV },
		{ "AlltoAll", RING_ALL_TO_ALL },
		{ "AllReduceOfAName that is longer than there is room for", RING_OTHER },
		{ "", RING_OTHER },
		{ NULL, RING_OTHER },
	};
	struct fake_comm comm;
	size_t i;

	harness_open(h, &comm, MASK_RECORD);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fake_op op = { .func = rows[i].name, .count = i, .peer = 5 };
		struct fake_slot slot;

		fake_launch(&comm, &op, 1);
		slot = harness_slot(harness_ring(), i);
		CHECK(slot.func == rows[i].func && slot.count == i && slot.peer == 5);
		CHECK(strncmp(slot.func_name, rows[i].name ? rows[i].name : "",
			      sizeof(slot.func_name) - 1) == 0);
	}
	fake_comm_close(&comm);
}

/* ---- what is requested of NCCL --------------------------------------------------------------- */

static void asked(struct harness *h)
{
	struct fake_comm comm;
	const struct ring_head *head;
	void *op;

	harness_open(h, &comm, 0);
	head = harness_ring();
	CHECK(h->nccl.mask == PROFILER_COLL);
	CHECK(!harness_coll(&comm, "AllReduce", 1, 2) && head->next == 0);
	harness_page()->mask = MASK_RECORD;
	harness_coll(&comm, "AllReduce", 1, 2);
	CHECK(h->nccl.mask == MASK_RECORD && head->mask == MASK_RECORD);
	op = harness_coll(&comm, "AllReduce", 2, 2);
	CHECK(op && harness_slot(head, head->next - 1).count == 2);
	harness_page()->mask = MASK_ALL;
	harness_coll(&comm, "AllReduce", 3, 2);
	CHECK((uint32_t)h->nccl.mask == (h->api == 3 ? MASK_RECORD : MASK_ALL));
	harness_page()->mask = 0;
	harness_coll(&comm, "AllReduce", 4, 2);
	CHECK(h->nccl.mask == PROFILER_COLL && head->mask == 0);
	/* Operations in progress are still recorded. */
	fake_stop(&h->nccl, fake_start(&comm, op, 0, 5), 6);
	CHECK(harness_slot(head, 1).stopped == 1 || harness_slot(head, 0).stopped == 1);
	harness_page()->mask = 0xffffffff; /* invalid bits request no more than is allowed */
	harness_coll(&comm, "AllReduce", 5, 2);
	CHECK((uint32_t)h->nccl.mask == (h->api == 3 ? MASK_RECORD : MASK_ALL));
	fake_comm_close(&comm);
	CHECK(h->nccl.mask == 0);
}

static void expired(struct harness *h)
{
	struct fake_comm comm;
	const struct ring_head *head;

	harness_open(h, &comm, MASK_RECORD);
	head = harness_ring();
	harness_page()->until_ns = harness_now_ns() + 3600 * UINT64_C(1000000000);
	CHECK(harness_coll(&comm, "AllReduce", 1, 2));
	harness_page()->until_ns = harness_now_ns() - 1;
	CHECK(!harness_coll(&comm, "AllReduce", 1, 2) && h->nccl.mask == PROFILER_COLL &&
	      head->mask == 0 && head->next == 1);
	harness_page()->until_ns = harness_now_ns() + 3600 * UINT64_C(1000000000);
	CHECK(harness_coll(&comm, "AllReduce", 1, 2) && h->nccl.mask == MASK_RECORD &&
	      head->mask == MASK_RECORD);
	fake_comm_close(&comm);
}

static void nobody(struct harness *h)
{
	static const enum fake_manner manners[] = {
		FAKE_REFUSES,  FAKE_BABBLES,	FAKE_NO_PAGE,
		FAKE_UNSEALED, FAKE_SHORT_PAGE, FAKE_OTHER_PAGE
	};
	struct fake_comm comm;
	uint64_t before;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(manners); i++) {
		fake_assayd_manner(manners[i], MASK_RECORD);
		fake_comm_open(&h->nccl, &comm, 1, 0, 2, 1);
		CHECK(!comm.context && h->nccl.mask == 0);
		CHECK(!fake_event(&comm, PROFILER_COLL, NULL) &&
		      !fake_event(&comm, PROFILER_GROUP_API, NULL));
		fake_comm_close(&comm);
	}
	setenv("ASSAY_RING_SOCKET", "/nonexistent/ring.sock", 1);
	fake_comm_open(&h->nccl, &comm, 1, 0, 2, 1);
	CHECK(!comm.context && h->nccl.mask == 0 && atomic_load(&fake_log_lines) <= 1);
	setenv("ASSAY_RING_SOCKET", "",
	       1); /* the default path: no assayd there, or one that does not know us */
	before = harness_now_ns();
	fake_comm_open(&h->nccl, &comm, 1, 0, 2, 1);
	CHECK(!comm.context && h->nccl.mask == 0 &&
	      harness_now_ns() - before < UINT64_C(60000000000));
}

static void versions(struct harness *h)
{
	static const int refused[] = { 0,     2708,  22304, 22505, 22600, 22707,
				       22800, 23003, 23100, 23102, 23200, 30000 };
	static const int taken[] = { 22602, 22606, 22703, 22803, 22809, 22902, 22907, 23004, 23007 };
	struct fake_comm comm;
	size_t i;

	fake_assayd_manner(FAKE_TAKES, MASK_RECORD);
	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		fake_version = refused[i];
		fake_comm_open(&h->nccl, &comm, 1, 0, 2, 1);
		CHECK(!comm.context && h->nccl.mask == 0 && fake_assayd_rings() == 0);
	}
	if (h->api > 3)
		CHECK(atomic_load(&fake_log_lines) <= 1 &&
		      (!fake_log_lines || strchr(fake_log[0], '\n') == NULL));
	for (i = 0; i < ARRAY_SIZE(taken); i++) {
		fake_version = taken[i];
		fake_comm_open(&h->nccl, &comm, 1, 0, 2, 1);
		CHECK(comm.context && h->nccl.mask == MASK_RECORD);
		fake_comm_close(&comm);
	}
	setenv("ASSAY_NCCL_ANY_VERSION", "1", 1);
	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		const bool bad = (refused[i] >= 20000 && refused[i] < 22600) ||
				 refused[i] == 22707 || refused[i] == 23003 ||
				 refused[i] / 100 == 231;

		fake_version = refused[i];
		fake_comm_open(&h->nccl, &comm, 1, 0, 2, 1);
		CHECK(!comm.context == bad); /* a known bad version cannot be forced */
		fake_comm_close(&comm);
	}
}

/* An NCCL that supports at most version 2 finds no symbol and continues. */
static void too_old(struct harness *h)
{
	struct fake_nccl old;
	int api;

	for (api = 1; api <= 2; api++) {
		CHECK(fake_load(&old, h->plugin, api));
		CHECK(old.api == 0);
		fake_unload(&old);
	}
	CHECK(fake_load(&old, h->plugin, 6) && old.api == 6);
	fake_unload(&old);
}

/* ---- difficult orders ------------------------------------------------------------------------ */

static void late(struct harness *h)
{
	struct fake_comm comm;
	const struct ring_head *head;
	void *op, *kernel, *proxy, *step;
	uint64_t i;

	harness_open(h, &comm, MASK_ALL);
	head = harness_ring();
	op = harness_coll(&comm, "AllReduce", 1, 1);
	kernel = fake_start(&comm, op, 0, 10);
	proxy = fake_proxy(&comm, op, getpid(), comm.rank, 0);
	step = fake_step(&comm, proxy);
	fake_state(&h->nccl, step, RING_WAIT_RECV, 0);
	CHECK(harness_slot(head, 0).wait == RING_WAIT_RECV && harness_slot(head, 0).wait_ns);
	fake_end(&h->nccl, step);
	fake_end(&h->nccl, proxy);
	CHECK(harness_slot(head, 0).wait == RING_WAIT_NONE);
	fake_state(&h->nccl, step, RING_WAIT_SEND_PEER,
		   0); /* NVIDIA/nccl#2000: a state after the end */
	CHECK(harness_slot(head, 0).wait == RING_WAIT_NONE && head->late_calls == 1);
	fake_stop(&h->nccl, kernel, 20);
	fake_stop(&h->nccl, kernel, 30); /* twice */
	CHECK(harness_slot(head, 0).stopped == 1 && head->late_calls == 2);
	if (h->api > 3)
		CHECK(harness_slot(head, 0).gpu_stop_ns == 20);
	for (i = 0; i < RING_SLOTS; i++)
		harness_coll(&comm, "AllGather", i, 1);
	CHECK(!fake_start(&comm, op, 0, 40) && !fake_proxy(&comm, op, getpid(), comm.rank, 0) &&
	      !fake_step(&comm, proxy));
	fake_stop(&h->nccl, kernel, 40);
	fake_state(&h->nccl, step, RING_WAIT_RECV, 0);
	CHECK(head->late_calls == 7 && harness_slot(head, RING_SLOTS).stopped == 0);
	fake_comm_close(&comm);
	CHECK(!fake_event(&comm, PROFILER_COLL, NULL) && !fake_start(&comm, op, 0, 50));
	fake_stop(&h->nccl, kernel, 50);
	CHECK(head->late_calls > 8 && head->next == RING_SLOTS + 1);
	fake_comm_close(&comm); /* twice */
}

/* Invalid handles, as if NCCL had mixed up its own. */
static void garbage(struct harness *h)
{
	struct fake_comm comm, wrong;
	uint64_t bits = 88172645463325252U, lost;
	void *op;
	int i;

	harness_open(h, &comm, MASK_ALL);
	harness_coll(&comm, "AllReduce", 1, 1);
	wrong = comm;
	for (i = 0; i < 100000; i++) {
		void *p;

		bits ^= bits << 13;
		bits ^= bits >> 7;
		bits ^= bits << 17;
		p = (void *)(uintptr_t)(bits | 1);
		fake_start(&comm, p, i & 255, bits);
		fake_stop(&h->nccl, p, bits);
		fake_state(&h->nccl, p, i & 31, bits);
		fake_step(&comm, p);
		fake_proxy(&comm, p, getpid(), 3, i & 255);
		wrong.context = p;
		fake_event(&wrong, PROFILER_COLL, p);
		fake_comm_close(&wrong);
	}
	for (i = 0; i < 64; i++) { /* no lookalike passes as a context */
		wrong.context = (void *)((uintptr_t)comm.context ^ (uintptr_t)1 << i);
		CHECK(!harness_coll(&wrong, "AllReduce", 1, 1));
	}
	CHECK(harness_ring()->next == 1 && harness_slot(harness_ring(), 0).started == 0);
	op = harness_coll(&comm, "AllReduce", 1, 1);
	lost = harness_ring()->lost;
	CHECK(!fake_start(&comm, op, RING_CHANNELS, 50) && !fake_start(&comm, op, 255, 50));
	CHECK(harness_ring()->lost == lost + 2 && harness_slot(harness_ring(), 1).started == 0);
	fake_comm_close(&comm);
}

/* A thread of the job stalls in the middle of a record while the ring wraps around. */
static void no_room(struct harness *h)
{
	struct fake_comm comm;
	uint64_t i;

	harness_open(h, &comm, MASK_RECORD);
	for (i = 0; i < RING_SLOTS; i++)
		harness_coll(&comm, "AllReduce", i, 1);
	fake_assayd_scribble(fake_assayd_rings() - 1, 0);
	CHECK(!harness_coll(&comm, "AllReduce", RING_SLOTS, 1) && harness_ring()->lost == 1);
	CHECK(harness_coll(&comm, "AllReduce", RING_SLOTS + 1, 1) &&
	      harness_slot(harness_ring(), RING_SLOTS + 1).count == RING_SLOTS + 1);
	fake_comm_close(&comm);
}

static void stamps(struct harness *h)
{
	struct fake_comm comm;
	const struct ring_head *head;
	void *op[4], *k;
	int i;

	if (h->api == 3) /* version 3 has none */
		return;
	harness_open(h, &comm, MASK_RECORD);
	head = harness_ring();
	for (i = 0; i < 4; i++)
		op[i] = harness_coll(&comm, "AllReduce", 1, 1);
	fake_stop(&h->nccl, fake_start(&comm, op[0], 0, 100), 200);
	fake_stop(&h->nccl, fake_start(&comm, op[1], 0, 9000), 9100); /* of an operation 64 later */
	fake_stop(&h->nccl, fake_start(&comm, op[2], 0, 500), 600);   /* which reveals it */
	CHECK(harness_slot(head, 0).gpu_start_ns == 100 && harness_slot(head, 0).flags == RING_DONE);
	CHECK(harness_slot(head, 1).flags == (RING_DONE | RING_STAMP_BAD) &&
	      !harness_slot(head, 1).gpu_start_ns);
	CHECK(harness_slot(head, 2).flags == (RING_DONE | RING_STAMP_BAD) &&
	      !harness_slot(head, 2).gpu_stop_ns);
	CHECK(head->bad_stamps == 2);
	fake_stop(&h->nccl, fake_start(&comm, op[3], 0, 700), 800);
	CHECK(harness_slot(head, 3).gpu_start_ns == 700 && harness_slot(head, 3).flags == RING_DONE);
	k = fake_start(&comm, harness_coll(&comm, "AllReduce", 1, 1), 0, 1000);
	fake_stop(&h->nccl, k, 999); /* stops before it starts */
	CHECK(harness_slot(head, 4).flags == (RING_DONE | RING_STAMP_BAD) && head->bad_stamps == 3);
	/* The next one's start is reported before this one's stop: in order. */
	op[0] = harness_coll(&comm, "AllReduce", 1, 1);
	op[1] = harness_coll(&comm, "AllReduce", 1, 1);
	k = fake_start(&comm, op[0], 0, 2000);
	op[1] = fake_start(&comm, op[1], 0, 3000);
	fake_stop(&h->nccl, k, 2900);
	fake_stop(&h->nccl, op[1], 3900);
	CHECK(harness_slot(head, 5).gpu_stop_ns == 2900 &&
	      harness_slot(head, 6).gpu_stop_ns == 3900 && head->bad_stamps == 3);
	/* ... and a stop after it belongs to a later operation. */
	op[0] = harness_coll(&comm, "AllReduce", 1, 1);
	op[1] = harness_coll(&comm, "AllReduce", 1, 1);
	k = fake_start(&comm, op[0], 0, 4000);
	fake_start(&comm, op[1], 0, 5000);
	fake_stop(&h->nccl, k, 6000);
	CHECK((harness_slot(head, 7).flags & RING_STAMP_BAD) && head->bad_stamps == 4);
	CHECK(!fake_start(&comm, op[1], 200, 7000) &&
	      head->lost == 1); /* more channels than declared */
	k = fake_start(&comm, harness_coll(&comm, "AllReduce", 1, 1), 0, 0);
	CHECK(harness_slot(head, 9).flags & RING_NO_GPU);
	fake_comm_close(&comm);
}

static void no_channels(struct harness *h)
{
	struct fake_op pair[2] = { { .func = "Send", .count = 4, .peer = 1, .channels = 8 },
				   { .func = "Recv", .count = 4, .peer = 1, .channels = 8 } };
	struct fake_comm comm;
	const struct ring_head *head;
	void *later;

	harness_open(h, &comm, MASK_RECORD);
	head = harness_ring();
	fake_stop(&h->nccl, fake_start(&comm, harness_coll(&comm, "Broadcast", 1, 0), 0, 10), 20);
	CHECK(!(harness_slot(head, 0).flags & RING_DONE)); /* their number is unknown */
	harness_coll(&comm, "AllReduce", 1, 0);		   /* no kernel is ever reported */
	fake_launch(&comm, pair, 2);
	fake_stop(&h->nccl, fake_start(&comm, pair[0].handle, 0, 30),
		  40); /* one of eight is launched */
	fake_stop(&h->nccl, fake_start(&comm, pair[1].handle, 1, 31), 41);
	CHECK(harness_slot(head, 0).flags & RING_DONE);
	CHECK(!(harness_slot(head, 1).flags & RING_DONE));
	CHECK(!(harness_slot(head, 2).flags & RING_DONE) &&
	      !(harness_slot(head, 3).flags & RING_DONE));
	later = harness_coll(&comm, "AllReduce", 1, 1);
	CHECK(!(harness_slot(head, 2).flags & RING_DONE)); /* enqueued is not started */
	fake_start(&comm, later, 0, 50);
	CHECK((harness_slot(head, 2).flags & RING_DONE) &&
	      (harness_slot(head, 3).flags & RING_DONE));
	CHECK(harness_slot(head, 2).seq == 0 &&
	      harness_slot(head, 2).channels == (h->api == 3 ? 0 : 8));
	fake_comm_close(&comm);
}

static void pxn(struct harness *h)
{
	struct fake_comm comm;
	const struct ring_head *head;
	void *op, *proxy, *second;

	harness_open(h, &comm, MASK_ALL);
	head = harness_ring();
	op = harness_coll(&comm, "AlltoAll", 1, 1);
	CHECK(!fake_proxy(&comm, op, getpid() + 1, comm.rank,
			  0)); /* of another process, whose pointer is valid here */
	CHECK(!fake_proxy(&comm, op, getpid(), comm.rank + 1,
			  0)); /* of the same pid in another container */
	CHECK(!fake_proxy(&comm, (void *)(uintptr_t)0xdeadbeef, getpid() + 1, comm.rank, 0));
	CHECK(!fake_step(&comm, NULL) && head->late_calls == 0);
	proxy = fake_proxy(&comm, op, getpid(), comm.rank, 0);
	second = fake_proxy(&comm, op, getpid(), comm.rank, 1);
	CHECK(proxy && second);
	fake_state(&h->nccl, fake_step(&comm, proxy), RING_WAIT_SEND_GPU, 0);
	fake_state(&h->nccl, fake_step(&comm, proxy), 13,
		   0); /* of a control event: it is none of ours */
	CHECK(harness_slot(head, 0).wait == RING_WAIT_SEND_GPU);
	fake_end(&h->nccl, proxy);
	CHECK(harness_slot(head, 0).wait == RING_WAIT_SEND_GPU); /* the second one still waits */
	fake_end(&h->nccl, second);
	fake_end(&h->nccl, second);
	CHECK(harness_slot(head, 0).wait == RING_WAIT_NONE);
	fake_comm_close(&comm);
}

static void graph(struct harness *h)
{
	struct fake_comm comm;
	const struct ring_head *head;
	int i;

	harness_open(h, &comm, MASK_RECORD);
	head = harness_ring();
	harness_coll(&comm, "AllReduce", 0, 1);
	comm.graph = true;
	for (i = 1; i <= 3; i++)
		harness_coll(&comm, "AllReduce", (uint64_t)i, 1);
	comm.graph = false;
	harness_coll(&comm, "AllReduce", 4, 1);
	harness_coll(&comm, "AllReduce", 5, 1);
	for (i = 0; i < 6; i++)
		CHECK(!!(harness_slot(head, (uint64_t)i).flags & RING_GRAPH) ==
		      (h->api >= 5 && i >= 1 && i <= 3));
	/* RAS compares NCCL's counts, so they must be the same as without a profiler. */
	if (h->api >= 5)
		CHECK(comm.seq == 3);
	fake_comm_close(&comm);
}

static void quiet(struct harness *h)
{
	const int file = memfd_create("said", MFD_CLOEXEC), out = dup(1), err = dup(2);
	struct fake_comm comm;
	struct stat st;

	CHECK(file >= 0 && out >= 0 && err >= 0 && fflush(stdout) == 0);
	CHECK(dup2(file, 1) == 1 && dup2(file, 2) == 2);
	fake_version = 23100;
	fake_comm_open(&h->nccl, &comm, 1, 0, 2, 1);
	fake_version = 22809;
	harness_open(h, &comm, MASK_RECORD);
	fake_stop(&h->nccl, fake_start(&comm, harness_coll(&comm, "AllReduce", 1, 1), 0, 10), 5);
	fake_comm_close(&comm);
	fflush(stdout);
	CHECK(dup2(out, 1) == 1 && dup2(err, 2) == 2);
	CHECK(fstat(file, &st) == 0 && st.st_size == 0);
	close(file);
	close(out);
	close(err);
}

const struct scenario harness_orders[] = {
	{ "plain", plain },	{ "names", names },   { "asked", asked },
	{ "expired", expired }, { "nobody", nobody }, { "versions", versions },
	{ "too-old", too_old }, { "late", late },     { "garbage", garbage },
	{ "no-room", no_room }, { "stamps", stamps }, { "no-channels", no_channels },
	{ "pxn", pxn },		{ "graph", graph },   { "quiet", quiet },
	{ NULL, NULL },
};
