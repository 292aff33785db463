/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/nccl/profiler_entry.h"

#include "plugins/nccl/profiler_record.h"

#define EXPORTED __attribute__((visibility("default")))

static const char name[] = "Assay";

/* Common to the versions: an event that is not an operation. */
static void *begin(struct profiler_comm *comm, const void *parent, int rank, uint64_t type,
		   const struct profiler_proxy_op *proxy)
{
	switch (type) {
	case PROFILER_GROUP:
		profiler_record_plan(comm);
		return NULL;
	case PROFILER_PROXY_OP:
		return profiler_record_proxy(parent, proxy->pid, rank, proxy->channel);
	case PROFILER_PROXY_STEP:
		return profiler_record_step(parent);
	default:
		return NULL;
	}
}

static bool is_wanted(uint32_t wants, uint64_t type)
{
	return (type == PROFILER_COLL && wants) || (type == PROFILER_P2P && (wants & PROFILER_P2P));
}

/* Up to NCCL 2.27, nothing inside a group without a handle is reported. */
static void *group_handle(struct profiler_comm *comm, uint32_t wants)
{
	return wants ? handle_pack(
			       (struct handle){ .kind = HANDLE_GROUP,
						.comm = profiler_comm_place(comm),
						.generation = atomic_load_explicit(
							&comm->generation, memory_order_relaxed) })
		     : NULL;
}

static struct record_op coll_op(const struct profiler_coll *coll)
{
	return (struct record_op){ .func = coll->func,
				   .datatype = coll->datatype,
				   .algo = coll->algo,
				   .proto = coll->proto,
				   .seq = coll->seq,
				   .count = coll->count,
				   .peer = coll->root,
				   .channels = coll->channels,
				   .rank = -1 };
}

static struct record_op p2p_op(const struct profiler_p2p *p2p)
{
	return (struct record_op){ .func = p2p->func,
				   .datatype = p2p->datatype,
				   .count = p2p->count,
				   .peer = p2p->peer,
				   .channels = p2p->channels,
				   .rank = -1 };
}

static int start_v5(void *context, void **handle, struct profiler_event_v5 *event)
{
	struct profiler_comm *comm = profiler_comm_of(context);
	uint32_t wants;

	*handle = NULL;
	if (!comm)
		return PROFILER_SUCCESS;
	wants = profiler_comm_wants(comm);
	if (event->type == PROFILER_KERNEL_CH) {
		*handle = profiler_record_start(event->parent, event->kernel_ch.channel,
						event->kernel_ch.gpu_ns);
	} else if (is_wanted(wants, event->type)) {
		const struct record_op op = event->type == PROFILER_COLL ? coll_op(&event->coll)
									 : p2p_op(&event->p2p);

		*handle = profiler_record_op(comm, &op);
	} else {
		*handle = begin(comm, event->parent, event->rank, event->type, &event->proxy_op);
	}
	return PROFILER_SUCCESS;
}

static int start_v4(void *context, void **handle, struct profiler_event_v4 *event)
{
	struct profiler_comm *comm = profiler_comm_of(context);
	uint32_t wants;

	*handle = NULL;
	if (!comm)
		return PROFILER_SUCCESS;
	wants = profiler_comm_wants(comm);
	if (event->type == PROFILER_KERNEL_CH) {
		*handle = profiler_record_start(event->parent, event->kernel_ch.channel,
						event->kernel_ch.gpu_ns);
	} else if (is_wanted(wants, event->type)) {
		const struct record_op op = event->type == PROFILER_COLL ? coll_op(&event->coll)
									 : p2p_op(&event->p2p);

		*handle = profiler_record_op(comm, &op);
	} else {
		*handle = begin(comm, event->parent, event->rank, event->type, &event->proxy_op);
		if (event->type == PROFILER_GROUP)
			*handle = group_handle(comm, wants);
	}
	return PROFILER_SUCCESS;
}

static struct record_op op_v3(const struct profiler_event_v3 *event)
{
	const struct profiler_coll_v3 *coll = &event->coll;
	const struct profiler_p2p_v3 *p2p = &event->p2p;

	if (event->type == PROFILER_P2P)
		return (struct record_op){ .func = p2p->func,
					   .datatype = p2p->datatype,
					   .count = p2p->count,
					   .peer = p2p->peer,
					   .name = p2p->name,
					   .comm_id = p2p->comm_hash,
					   .rank = event->rank };
	/* Its number of channels is only an upper bound. */
	return (struct record_op){ .func = coll->func,
				   .datatype = coll->datatype,
				   .algo = coll->algo,
				   .proto = coll->proto,
				   .seq = coll->seq,
				   .count = coll->count,
				   .peer = coll->root,
				   .channels = coll->max_channels,
				   .name = coll->name,
				   .comm_id = coll->comm_hash,
				   .rank = event->rank };
}

static int start_v3(void *context, void **handle, struct profiler_event_v3 *event)
{
	struct profiler_comm *comm = profiler_comm_of(context);
	uint32_t wants;

	*handle = NULL;
	if (!comm)
		return PROFILER_SUCCESS;
	wants = profiler_comm_wants(comm);
	if (event->type == PROFILER_KERNEL_CH) {
		*handle = profiler_record_start(event->parent, event->kernel_ch.channel, 0);
	} else if (is_wanted(wants, event->type)) {
		const struct record_op op = op_v3(event);

		*handle = profiler_record_op(comm, &op);
	} else {
		*handle = begin(comm, event->parent, event->rank, event->type, &event->proxy_op);
		if (event->type == PROFILER_GROUP)
			*handle = group_handle(comm, wants);
	}
	return PROFILER_SUCCESS;
}

/* The stop of a kernel is a state, or in version 3 the stop of its event. */
static int stop(void *handle)
{
	const struct handle h = handle_unpack(handle);

	if (h.kind == HANDLE_PROXY)
		profiler_record_proxy_end(h);
	return PROFILER_SUCCESS;
}

static int stop_v3(void *handle)
{
	const struct handle h = handle_unpack(handle);

	if (h.kind == HANDLE_CHANNEL)
		profiler_record_stop(h, 0);
	return stop(handle);
}

static int record(void *handle, int state, union profiler_state_args *args)
{
	const struct handle h = handle_unpack(handle);

	if (h.kind == HANDLE_CHANNEL && state == PROFILER_KERNEL_CH_STOP)
		profiler_record_stop(h, args ? args->gpu_ns : 0);
	else if (h.kind == HANDLE_STEP)
		profiler_record_wait(h, state);
	return PROFILER_SUCCESS;
}

static int record_v3(void *handle, int state, void *args)
{
	const struct handle h = handle_unpack(handle);

	(void)args;
	if (h.kind == HANDLE_STEP)
		profiler_record_wait(h, state);
	return PROFILER_SUCCESS;
}

static int finalize(void *context)
{
	profiler_comm_close(context);
	return PROFILER_SUCCESS;
}

static int init_v3(void **context, int *mask)
{
	const struct comm_who who = { .api = 3, .rank = -1, .mask = mask };

	profiler_comm_open(&who, context);
	return PROFILER_SUCCESS;
}

static int init_v4(void **context, int *mask, const char *comm_name, uint64_t comm_id, int n_nodes,
		   int n_ranks, int rank, profiler_log_fn log)
{ /* lint: allow parameters: NCCL's */
	const struct comm_who who = { .api = 4,
				      .n_nodes = n_nodes,
				      .n_ranks = n_ranks,
				      .rank = rank,
				      .comm_id = comm_id,
				      .name = comm_name,
				      .mask = mask,
				      .log = log };

	profiler_comm_open(&who, context);
	return PROFILER_SUCCESS;
}

static void init_newer(int api, struct comm_who who, void **context)
{
	who.api = api;
	profiler_comm_open(&who, context);
}

static int init_v5(void **context, uint64_t comm_id, int *mask, const char *comm_name, int n_nodes,
		   int n_ranks, int rank, profiler_log_fn log)
{ /* lint: allow parameters: NCCL's */
	init_newer(5, (struct comm_who){ 0, n_nodes, n_ranks, rank, comm_id, comm_name, mask, log },
		   context);
	return PROFILER_SUCCESS;
}

static int init_v6(void **context, uint64_t comm_id, int *mask, const char *comm_name, int n_nodes,
		   int n_ranks, int rank, profiler_log_fn log)
{ /* lint: allow parameters: NCCL's */
	init_newer(6, (struct comm_who){ 0, n_nodes, n_ranks, rank, comm_id, comm_name, mask, log },
		   context);
	return PROFILER_SUCCESS;
}

EXPORTED struct profiler_v3 ncclProfiler_v3 = { name,	 init_v3,   start_v3,
						stop_v3, record_v3, finalize };
EXPORTED struct profiler_v4 ncclProfiler_v4 = { name, init_v4, start_v4, stop, record, finalize };
EXPORTED struct profiler_v5 ncclProfiler_v5 = { name, init_v5, start_v5, stop, record, finalize };
EXPORTED struct profiler_v5 ncclProfiler_v6 = { name, init_v6, start_v5, stop, record, finalize };
