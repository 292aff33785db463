/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/nccl/profiler_record.h"

#include <string.h>
#include <time.h>

#include "lib/base/macro.h"
#include "lib/ring/ring_func.h"

#define NS_PER_S UINT64_C(1000000000)

enum { LOOK_AHEAD = 16 /* operations that a callback checks for completion */ };

static uint64_t now_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Bytes per element: the first number in the name is its bits ("ncclBfloat16"). */
static uint8_t size_of(const char *datatype)
{
	const char *digit = datatype ? datatype + strcspn(datatype, "12368") : "";

	switch (*digit) {
	case '8':
		return 1;
	case '1':
		return 2;
	case '3':
		return 4;
	case '6':
		return 8;
	default:
		return 0;
	}
}

/* The slot of an operation, if it is still there; otherwise the call is counted as late. */
static struct ring_slot *slot_of(struct profiler_comm *comm, uint64_t number)
{
	struct ring_slot *slot = profiler_comm_slot(comm, number);
	const uint64_t stamp = atomic_load_explicit(&slot->stamp, memory_order_acquire);

	if (stamp && ((stamp - 1) & HANDLE_NUMBER_MASK) == number)
		return slot;
	atomic_fetch_add_explicit(&profiler_comm_head(comm)->late_calls, 1, memory_order_relaxed);
	return NULL;
}

void profiler_record_plan(struct profiler_comm *comm)
{
	atomic_fetch_add_explicit(&comm->plan, 1, memory_order_relaxed);
}

/*
 * Take the slot for writing. It must be empty, or hold an operation at least RING_SLOTS earlier.
 * Returns false if another thread is still writing to it, after RING_SLOTS operations.
 */
static bool take_slot(struct ring_slot *slot, uint64_t number)
{
	uint64_t stamp = atomic_load_explicit(&slot->stamp, memory_order_relaxed);

	if (stamp > number || (!stamp && number >= RING_SLOTS) ||
	    !atomic_compare_exchange_strong_explicit(&slot->stamp, &stamp, 0, memory_order_acquire,
						     memory_order_relaxed))
		return false;
	atomic_thread_fence(
		memory_order_release); /* readers must not see new data with the old stamp */
	return true;
}

static void fill_slot(struct ring_slot *slot, const struct profiler_comm *comm,
		      const struct record_op *op, enum ring_func func)
{
	const char *name = op->func ? op->func : "";

	slot->seq = op->seq;
	slot->count = op->count;
	slot->peer = op->peer;
	atomic_store_explicit(&slot->channels, (uint16_t)op->channels, memory_order_relaxed);
	atomic_store_explicit(&slot->func, (uint8_t)func, memory_order_relaxed);
	slot->algo = op->algo ? (uint8_t)*op->algo : 0;
	slot->proto = op->proto ? (uint8_t)*op->proto : 0;
	slot->element_size = size_of(op->datatype);
	memset(slot->func_name, 0, sizeof(slot->func_name));
	memcpy(slot->func_name, name, strnlen(name, sizeof(slot->func_name) - 1));
	atomic_store_explicit(&slot->gpu_start_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->gpu_stop_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->host_start_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->host_stop_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->wait_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->started, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->stopped, 0, memory_order_relaxed);
	atomic_store_explicit(&slot->wait, RING_WAIT_NONE, memory_order_relaxed);
	atomic_store_explicit(&slot->flags, comm->api == 3 ? RING_NO_GPU : 0, memory_order_relaxed);
}

static void flag(struct ring_slot *slot, enum ring_flag f)
{
	atomic_fetch_or_explicit(&slot->flags, (uint8_t)f, memory_order_relaxed);
}

/*
 * NCCL does not count replays of a graph. If two consecutive operations have the same number, both
 * are replays, or only the first is; which, is not known before the next one. So only the first is
 * flagged here.
 */
static void find_graph(struct profiler_comm *comm, uint64_t number, enum ring_func func,
		       uint64_t seq)
{
	const uint64_t seq_before =
		atomic_exchange_explicit(&comm->func_seq[func], seq + 1, memory_order_relaxed);
	const uint64_t before = atomic_exchange_explicit(&comm->func_number[func], number + 1,
							 memory_order_relaxed);
	struct ring_slot *slot;

	if (seq_before != seq + 1 || !before || number - (before - 1) >= RING_SLOTS)
		return;
	slot = profiler_comm_slot(comm, before - 1);
	if (atomic_load_explicit(&slot->stamp, memory_order_acquire) == before)
		flag(slot, RING_GRAPH);
}

/* In version 3, this is the first time that we learn the communicator's identity. */
static void say_who(struct profiler_comm *comm, const struct record_op *op)
{
	struct ring_head *head = profiler_comm_head(comm);
	int nobody = -1;

	if (op->rank < 0 || !atomic_compare_exchange_strong(&comm->rank, &nobody, op->rank))
		return;
	head->comm_id = op->comm_id;
	head->rank = op->rank;
	if (op->name)
		memcpy(head->name, op->name, strnlen(op->name, sizeof(head->name) - 1));
}

void *profiler_record_op(struct profiler_comm *comm, const struct record_op *op)
{
	struct ring_head *head = profiler_comm_head(comm);
	const enum ring_func func = ring_func_find(op->func);
	const uint64_t now = now_ns();
	struct ring_slot *slot;
	uint64_t number;

	if (profiler_comm_expired(comm, now))
		return NULL;
	if (atomic_load_explicit(&comm->rank, memory_order_relaxed) < 0)
		say_who(comm, op);
	number = atomic_fetch_add_explicit(&head->next, 1, memory_order_relaxed);
	slot = profiler_comm_slot(comm, number);
	if (!take_slot(slot, number)) {
		atomic_fetch_add_explicit(&head->lost, 1, memory_order_relaxed);
		return NULL;
	}
	fill_slot(slot, comm, op, func);
	slot->enqueued_ns = now;
	atomic_store_explicit(&comm->plans[number % RING_SLOTS],
			      atomic_load_explicit(&comm->plan, memory_order_relaxed),
			      memory_order_relaxed);
	atomic_store_explicit(&comm->proxies[number % RING_SLOTS], 0, memory_order_relaxed);
	atomic_store_explicit(&slot->stamp, number + 1, memory_order_release);
	atomic_store_explicit(&head->beat_ns, now, memory_order_relaxed);
	if (!ring_func_is_p2p(func))
		find_graph(comm, number, func, op->seq);
	return handle_pack((struct handle){
		.kind = HANDLE_OP,
		.comm = profiler_comm_place(comm),
		.generation = atomic_load_explicit(&comm->generation, memory_order_relaxed),
		.number = number,
	});
}

/* Discard the GPU timestamps. The flag is set first, for concurrent readers. */
static void spoil(struct profiler_comm *comm, struct ring_slot *slot)
{
	flag(slot, RING_STAMP_BAD);
	atomic_fetch_add_explicit(&profiler_comm_head(comm)->bad_stamps, 1, memory_order_relaxed);
	atomic_store_explicit(&slot->gpu_start_ns, 0, memory_order_release);
	atomic_store_explicit(&slot->gpu_stop_ns, 0, memory_order_release);
}

/* Earlier operations that seem to have started after this one have timestamps of later works. */
static void spoil_before(struct profiler_comm *comm, uint64_t number, uint64_t start_ns)
{
	uint64_t i;

	for (i = 1; i <= MIN(number, (uint64_t)RECORD_LOOK_BACK); i++) {
		struct ring_slot *slot = profiler_comm_slot(comm, number - i);

		if (atomic_load_explicit(&slot->stamp, memory_order_acquire) == number - i + 1 &&
		    atomic_load_explicit(&slot->gpu_start_ns, memory_order_relaxed) > start_ns)
			spoil(comm, slot);
	}
}

/* Record the start of an operation on a channel, if it is plausible. */
static void stamp_start(struct profiler_comm *comm, struct ring_slot *slot, uint64_t number,
			uint32_t channel, uint64_t ns)
{
	struct comm_channel *c = &comm->channels[channel];
	const uint64_t last_number = atomic_load_explicit(&c->number, memory_order_relaxed);
	const uint64_t last_ns = atomic_load_explicit(&c->start_ns, memory_order_relaxed);
	const uint64_t least = atomic_load_explicit(&slot->gpu_start_ns, memory_order_relaxed);
	const bool back = last_number && (number + 1 >= last_number ? ns < last_ns : ns > last_ns);

	atomic_store_explicit(&c->number_before, last_number, memory_order_relaxed);
	atomic_store_explicit(&c->start_before_ns, last_ns, memory_order_relaxed);
	atomic_store_explicit(&c->number, number + 1, memory_order_relaxed);
	atomic_store_explicit(&c->start_ns, ns, memory_order_relaxed);
	if (back) {
		spoil(comm, slot);
		spoil_before(comm, number, ns);
	} else if (!(atomic_load_explicit(&slot->flags, memory_order_relaxed) & RING_STAMP_BAD) &&
		   (!least || ns < least)) {
		atomic_store_explicit(&slot->gpu_start_ns, ns, memory_order_relaxed);
	}
}

static void stamp_stop(struct profiler_comm *comm, struct ring_slot *slot, uint64_t number,
		       uint32_t channel, uint64_t ns)
{
	struct comm_channel *c = &comm->channels[channel];
	const uint64_t last_number = atomic_load_explicit(&c->number, memory_order_relaxed);
	const uint64_t last_ns = atomic_load_explicit(&c->start_ns, memory_order_relaxed);
	const uint64_t largest = atomic_load_explicit(&slot->gpu_stop_ns, memory_order_relaxed);
	uint64_t start = atomic_load_explicit(&slot->gpu_start_ns, memory_order_relaxed);
	uint64_t next = UINT64_MAX;

	if (last_number == number + 1) {
		start = last_ns;
	} else if (last_number > number + 1) {
		next = last_ns;
		if (atomic_load_explicit(&c->number_before, memory_order_relaxed) == number + 1)
			start = atomic_load_explicit(&c->start_before_ns, memory_order_relaxed);
	}
	if (atomic_load_explicit(&slot->flags, memory_order_relaxed) & RING_STAMP_BAD)
		return;
	if (ns < start || ns > next)
		spoil(comm, slot);
	else if (ns > largest)
		atomic_store_explicit(&slot->gpu_stop_ns, ns, memory_order_relaxed);
}

static void done_if(struct profiler_comm *comm, struct ring_slot *slot, uint64_t number,
		    uint32_t plan_started)
{
	const uint16_t started = atomic_load_explicit(&slot->started, memory_order_relaxed);
	const uint16_t channels = atomic_load_explicit(&slot->channels, memory_order_relaxed);
	const bool p2p = ring_func_is_p2p(atomic_load_explicit(&slot->func, memory_order_relaxed));

	if (!started || started != atomic_load_explicit(&slot->stopped, memory_order_relaxed))
		return;
	if ((!p2p && channels && started >= channels) ||
	    atomic_load_explicit(&comm->plans[number % RING_SLOTS], memory_order_relaxed) <
		    plan_started)
		flag(slot, RING_DONE);
}

/* A kernel of this plan is running, so nothing more can start for earlier operations. */
static void look_at_plans(struct profiler_comm *comm, uint32_t plan)
{
	const uint64_t next =
		atomic_load_explicit(&profiler_comm_head(comm)->next, memory_order_relaxed);
	uint64_t i = atomic_load_explicit(&comm->looked, memory_order_relaxed);
	int n;

	if (plan > atomic_load_explicit(&comm->plan_started, memory_order_relaxed))
		atomic_store_explicit(&comm->plan_started, plan, memory_order_relaxed);
	if (next - i > RING_SLOTS)
		i = next - RING_SLOTS;
	for (n = 0; n < LOOK_AHEAD && i < next; n++, i++) {
		struct ring_slot *slot = profiler_comm_slot(comm, i);

		if (atomic_load_explicit(&comm->plans[i % RING_SLOTS], memory_order_relaxed) >= plan)
			break;
		if (atomic_load_explicit(&slot->stamp, memory_order_acquire) == i + 1)
			done_if(comm, slot, i, plan);
	}
	atomic_store_explicit(&comm->looked, i, memory_order_relaxed);
}

static void beat(struct profiler_comm *comm, uint64_t now)
{
	atomic_store_explicit(&profiler_comm_head(comm)->beat_ns, now, memory_order_relaxed);
}

void *profiler_record_start(const void *parent, uint32_t channel, uint64_t gpu_ns)
{
	struct handle h = handle_unpack(parent);
	struct profiler_comm *comm = h.kind == HANDLE_OP ? profiler_comm_find(h) : NULL;
	struct ring_slot *slot = comm ? slot_of(comm, h.number) : NULL;
	uint64_t now;

	if (!slot)
		return NULL;
	if (channel >= RING_CHANNELS) {
		atomic_fetch_add_explicit(&profiler_comm_head(comm)->lost, 1, memory_order_relaxed);
		return NULL;
	}
	if (atomic_fetch_add_explicit(&slot->started, 1, memory_order_relaxed) == 0) {
		now = now_ns();
		atomic_store_explicit(&slot->host_start_ns, now, memory_order_relaxed);
		beat(comm, now);
		look_at_plans(comm, atomic_load_explicit(&comm->plans[h.number % RING_SLOTS],
							 memory_order_relaxed));
	}
	if (gpu_ns)
		stamp_start(comm, slot, h.number, channel, gpu_ns);
	else
		flag(slot, RING_NO_GPU);
	h.kind = HANDLE_CHANNEL;
	h.channel = channel;
	return handle_pack(h);
}

void profiler_record_stop(struct handle h, uint64_t gpu_ns)
{
	struct profiler_comm *comm = profiler_comm_find(h);
	struct ring_slot *slot = comm ? slot_of(comm, h.number) : NULL;
	uint16_t started, stopped;
	uint64_t now;

	if (!slot)
		return;
	started = atomic_load_explicit(&slot->started, memory_order_relaxed);
	stopped = atomic_load_explicit(&slot->stopped, memory_order_relaxed);
	if (stopped >= started) { /* reported before */
		atomic_fetch_add_explicit(&profiler_comm_head(comm)->late_calls, 1,
					  memory_order_relaxed);
		return;
	}
	if (gpu_ns)
		stamp_stop(comm, slot, h.number, h.channel, gpu_ns);
	if (stopped + 1 == started) {
		now = now_ns();
		atomic_store_explicit(&slot->host_stop_ns, now, memory_order_relaxed);
		beat(comm, now);
	}
	atomic_fetch_add_explicit(&slot->stopped, 1, memory_order_release);
	done_if(comm, slot, h.number,
		atomic_load_explicit(&comm->plan_started, memory_order_relaxed));
}

void *profiler_record_proxy(const void *parent, pid_t pid, int rank, uint32_t channel)
{
	struct handle h = handle_unpack(parent);
	struct profiler_comm *comm;
	int ours;

	/* Of another process (PXN): its handle is meaningless here. */
	if (pid != profiler_comm_pid() || h.kind != HANDLE_OP)
		return NULL;
	comm = profiler_comm_find(h);
	ours = comm ? atomic_load_explicit(&comm->rank, memory_order_relaxed) : -1;
	if (!comm || (ours >= 0 && rank != ours) || !slot_of(comm, h.number))
		return NULL;
	atomic_fetch_add_explicit(&comm->proxies[h.number % RING_SLOTS], 1, memory_order_relaxed);
	h.kind = HANDLE_PROXY;
	h.channel = channel & (RING_CHANNELS - 1);
	return handle_pack(h);
}

void profiler_record_proxy_end(struct handle h)
{
	struct profiler_comm *comm = profiler_comm_find(h);
	struct ring_slot *slot = comm ? slot_of(comm, h.number) : NULL;
	_Atomic uint32_t *open = slot ? &comm->proxies[h.number % RING_SLOTS] : NULL;

	if (!open || atomic_load_explicit(open, memory_order_relaxed) == 0)
		return;
	if (atomic_fetch_sub_explicit(open, 1, memory_order_relaxed) == 1) {
		atomic_store_explicit(&slot->wait, RING_WAIT_NONE, memory_order_relaxed);
		atomic_store_explicit(&slot->wait_ns, 0, memory_order_relaxed);
	}
}

void *profiler_record_step(const void *parent)
{
	struct handle h = handle_unpack(parent);
	struct profiler_comm *comm = h.kind == HANDLE_PROXY ? profiler_comm_find(h) : NULL;

	if (!comm || !slot_of(comm, h.number))
		return NULL;
	h.kind = HANDLE_STEP;
	return handle_pack(h);
}

void profiler_record_wait(struct handle h, int state)
{
	struct profiler_comm *comm = profiler_comm_find(h);
	struct ring_slot *slot = comm ? slot_of(comm, h.number) : NULL;
	uint64_t now;

	if (!slot || state > UINT8_MAX ||
	    (state != RING_WAIT_SEND_PEER &&
	     (state < RING_WAIT_SEND_GPU || state > RING_WAIT_RECV_GPU)))
		return;
	if (atomic_load_explicit(&comm->proxies[h.number % RING_SLOTS], memory_order_relaxed) == 0) {
		atomic_fetch_add_explicit(&profiler_comm_head(comm)->late_calls, 1,
					  memory_order_relaxed);
		return;
	}
	now = now_ns();
	atomic_store_explicit(&slot->wait_ns, now, memory_order_relaxed);
	atomic_store_explicit(&slot->wait, (uint8_t)state, memory_order_relaxed);
	beat(comm, now);
}
