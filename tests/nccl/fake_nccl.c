/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/nccl/fake_nccl.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "lib/base/macro.h"

int fake_version = 22809;
uint64_t fake_shm_free = UINT64_C(1) << 40;
char fake_log[FAKE_LOG_MAX][FAKE_LINE_MAX];
_Atomic int fake_log_lines;

int ncclGetVersion(int *version);

/* The library resolves these here like NCCL's and libc's symbols. */
int ncclGetVersion(int *version)
{
	*version = fake_version;
	return fake_version ? 0 : 1;
}

int statvfs(const char *path, struct statvfs *fs)
{
	(void)path;
	*fs = (struct statvfs){ .f_frsize = 1, .f_bavail = fake_shm_free };
	return 0;
}

__attribute__((format(printf, 5, 6))) static void
log_line(int level, unsigned long subsystems, const char *file, int line, const char *format, ...)
{
	const int i = atomic_fetch_add(&fake_log_lines, 1);
	va_list args;

	(void)level;
	(void)subsystems;
	(void)file;
	(void)line;
	va_start(args, format);
	if (i < FAKE_LOG_MAX)
		vsnprintf(fake_log[i], FAKE_LINE_MAX, format, args);
	va_end(args);
}

bool fake_load(struct fake_nccl *nccl, const char *path, int newest)
{
	static const char *const symbols[] = { "ncclProfiler_v1", "ncclProfiler_v2",
					       "ncclProfiler_v3", "ncclProfiler_v4",
					       "ncclProfiler_v5", "ncclProfiler_v6" };
	int api;

	*nccl = (struct fake_nccl){ .library = dlopen(path, RTLD_NOW | RTLD_LOCAL) };
	if (!nccl->library)
		return false;
	for (api = newest; api >= 1 && !nccl->object; api--) {
		nccl->object = dlsym(nccl->library, symbols[api - 1]);
		nccl->api = nccl->object ? api : 0;
	}
	return true;
}

void fake_unload(struct fake_nccl *nccl)
{
	dlclose(nccl->library);
	nccl->library = NULL;
}

static int mask_of(struct fake_nccl *nccl)
{
	return __atomic_load_n(&nccl->mask, __ATOMIC_RELAXED);
}

void fake_comm_open(struct fake_nccl *nccl, struct fake_comm *comm, uint64_t id, int rank,
		    int n_ranks, int n_nodes)
{
	*comm = (struct fake_comm){
		.nccl = nccl, .id = id, .rank = rank, .n_ranks = n_ranks, .n_nodes = n_nodes
	};
	if (nccl->api == 3)
		nccl->v3->init(&comm->context, &nccl->mask);
	else if (nccl->api == 4)
		nccl->v4->init(&comm->context, &nccl->mask, "world", id, n_nodes, n_ranks, rank,
			       log_line);
	else
		nccl->v5->init(&comm->context, id, &nccl->mask, "world", n_nodes, n_ranks, rank,
			       log_line);
}

void fake_comm_close(struct fake_comm *comm)
{
	if (!comm->context)
		return;
	if (comm->nccl->api == 3)
		comm->nccl->v3->finalize(comm->context);
	else if (comm->nccl->api == 4)
		comm->nccl->v4->finalize(comm->context);
	else
		comm->nccl->v5->finalize(comm->context);
}

static void *start_v3(struct fake_comm *comm, struct profiler_event_v3 event)
{
	void *handle = &event;

	comm->nccl->v3->start(comm->context, &handle, &event);
	return handle;
}

static void *start_v4(struct fake_comm *comm, struct profiler_event_v4 event)
{
	void *handle = &event;

	comm->nccl->v4->start(comm->context, &handle, &event);
	return handle;
}

static void *start_v5(struct fake_comm *comm, struct profiler_event_v5 event)
{
	void *handle = &event;

	comm->nccl->v5->start(comm->context, &handle, &event);
	return handle;
}

void *fake_event(struct fake_comm *comm, uint64_t type, void *parent)
{
	if (comm->nccl->api == 3)
		return start_v3(comm, (struct profiler_event_v3){ .type = (uint8_t)type,
								  .parent = parent,
								  .rank = comm->rank });
	if (comm->nccl->api == 4)
		return start_v4(comm, (struct profiler_event_v4){ .type = (uint8_t)type,
								  .parent = parent,
								  .rank = comm->rank });
	return start_v5(comm, (struct profiler_event_v5){
				      .type = type, .parent = parent, .rank = comm->rank });
}

static bool is_p2p(const struct fake_op *op)
{
	return streq(op->func, "Send") || streq(op->func, "Recv");
}

static void begin_v3(struct fake_comm *comm, struct fake_op *op)
{
	struct profiler_event_v3 event = { .parent = op->group, .rank = comm->rank };

	event.type = is_p2p(op) ? PROFILER_P2P : PROFILER_COLL;
	if (is_p2p(op))
		event.p2p = (struct profiler_p2p_v3){ "world",	     comm->id,	op->func, NULL,
						      "ncclFloat16", op->count, op->peer };
	else
		event.coll = (struct profiler_coll_v3){
			"world", comm->id,  comm->seq, op->func,       NULL,
			NULL,	 op->count, op->peer,  "ncclBfloat16", (uint8_t)op->channels,
			8,	 "RING",    "SIMPLE"
		};
	op->handle = start_v3(comm, event);
}

static struct profiler_coll coll_of(const struct fake_comm *comm, const struct fake_op *op)
{
	return (struct profiler_coll){ .seq = comm->seq,
				       .func = op->func,
				       .count = op->count,
				       .root = op->peer,
				       .datatype = "ncclBfloat16",
				       .channels = (uint8_t)op->channels,
				       .warps = 8,
				       .algo = "RING",
				       .proto = "SIMPLE",
				       .group = op->group };
}

static struct profiler_p2p p2p_of(const struct fake_op *op)
{
	return (struct profiler_p2p){ .func = op->func,
				      .datatype = "ncclFloat16",
				      .count = op->count,
				      .peer = op->peer,
				      .channels = (uint8_t)op->channels,
				      .group = op->group };
}

static void begin(struct fake_comm *comm, struct fake_op *op)
{
	const uint64_t type = is_p2p(op) ? PROFILER_P2P : PROFILER_COLL;
	struct profiler_event_v4 v4 = { .type = (uint8_t)type,
					.parent = op->group,
					.rank = comm->rank };
	struct profiler_event_v5 v5 = { .type = type, .rank = comm->rank };

	if (comm->nccl->api == 3) {
		begin_v3(comm, op);
	} else if (comm->nccl->api == 4) {
		if (is_p2p(op))
			v4.p2p = p2p_of(op);
		else
			v4.coll = coll_of(comm, op);
		op->handle = start_v4(comm, v4);
	} else {
		if (is_p2p(op))
			v5.p2p = p2p_of(op);
		else
			v5.coll = coll_of(comm, op);
		op->handle = start_v5(comm, v5);
	}
}

void fake_launch(struct fake_comm *comm, struct fake_op *ops, int n)
{
	const int mask = mask_of(comm->nccl), api = comm->nccl->api;
	void *group = NULL, *outer = NULL;
	int i;

	if (api >= 5 && mask) {
		outer = fake_event(comm, PROFILER_GROUP_API, NULL);
		for (i = 0; i < n; i++)
			fake_end(comm->nccl,
				 fake_event(comm,
					    is_p2p(&ops[i]) ? PROFILER_P2P_API : PROFILER_COLL_API,
					    outer));
	}
	if (mask)
		group = fake_event(comm, PROFILER_GROUP, NULL);
	for (i = 0; i < n; i++) {
		const int bits = (is_p2p(&ops[i]) ? PROFILER_P2P : PROFILER_COLL) |
				 PROFILER_PROXY_OP | PROFILER_PROXY_STEP | PROFILER_KERNEL_CH;

		ops[i].group = group;
		ops[i].handle = NULL;
		if ((mask & bits) && (api >= 5 || group))
			begin(comm, &ops[i]);
		if (!is_p2p(&ops[i]) && (!comm->graph || (group && (mask & PROFILER_KERNEL_CH))))
			comm->seq++;
	}
	for (i = 0; i < n; i++)
		fake_end(comm->nccl, ops[i].handle);
	fake_end(comm->nccl, group);
	fake_end(comm->nccl, outer);
}

void *fake_start(struct fake_comm *comm, const void *op, int channel, uint64_t ns)
{
	const struct profiler_kernel_ch work = { (uint8_t)channel, ns };
	void *parent = (void *)(uintptr_t)op;

	if (comm->nccl->api == 3)
		return start_v3(comm, (struct profiler_event_v3){ .type = PROFILER_KERNEL_CH,
								  .parent = parent,
								  .kernel_ch = work });
	if (comm->nccl->api == 4)
		return start_v4(comm, (struct profiler_event_v4){ .type = PROFILER_KERNEL_CH,
								  .parent = parent,
								  .kernel_ch = work });
	return start_v5(comm, (struct profiler_event_v5){ .type = PROFILER_KERNEL_CH,
							  .parent = parent,
							  .kernel_ch = work });
}

void fake_stop(struct fake_nccl *nccl, void *kernel, uint64_t ns)
{
	if (!kernel)
		return;
	if (nccl->api != 3)
		fake_state(nccl, kernel, PROFILER_KERNEL_CH_STOP, ns);
	fake_end(nccl, kernel);
}

void *fake_proxy(struct fake_comm *comm, void *op, pid_t pid, int rank, int channel)
{
	const struct profiler_proxy_op proxy = { pid, (uint8_t)channel, 1, 4, 1 << 20, 1 };

	if (comm->nccl->api == 3)
		return start_v3(comm, (struct profiler_event_v3){ .type = PROFILER_PROXY_OP,
								  .parent = op,
								  .rank = rank,
								  .proxy_op = proxy });
	if (comm->nccl->api == 4)
		return start_v4(comm, (struct profiler_event_v4){ .type = PROFILER_PROXY_OP,
								  .parent = op,
								  .rank = rank,
								  .proxy_op = proxy });
	return start_v5(comm, (struct profiler_event_v5){ .type = PROFILER_PROXY_OP,
							  .parent = op,
							  .rank = rank,
							  .proxy_op = proxy });
}

void *fake_step(struct fake_comm *comm, void *proxy)
{
	return fake_event(comm, PROFILER_PROXY_STEP, proxy);
}

void fake_end(struct fake_nccl *nccl, void *handle)
{
	if (!handle)
		return;
	if (nccl->api == 3)
		nccl->v3->stop(handle);
	else if (nccl->api == 4)
		nccl->v4->stop(handle);
	else
		nccl->v5->stop(handle);
}

void fake_state(struct fake_nccl *nccl, void *handle, int state, uint64_t ns)
{
	union profiler_state_args args = { .gpu_ns = ns };

	if (!handle)
		return;
	if (nccl->api == 3)
		nccl->v3->record(handle, state, &args);
	else if (nccl->api == 4)
		nccl->v4->record(handle, state, &args);
	else
		nccl->v5->record(handle, state, &args);
}
