/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own declarations of NCCL's profiler interface, versions 3 to 6: layouts, numbers and their
 * meaning. NCCL looks for the symbols ncclProfiler_v6, _v5, ... in turn and takes the first that it
 * supports; profiler_version.h says which versions of NCCL look for which.
 *
 * Source of layouts and numbers: src/include/plugin/nccl_profiler.h and
 * src/include/plugin/profiler/profiler_v3.h to v6.h of NVIDIA/nccl at the tags v2.26.2-1,
 * v2.27.7-1, v2.28.9-1 and v2.30.7-1; nccl_common.h there for the logger.
 *
 * What its comments do not say, from src/plugin/profiler.cc and src/enqueue.cc at those tags:
 *
 * - The mask is a single `int` per process. An operation uses its value at the time of the job's
 *   call; one captured in a graph keeps it for all replays of the graph.
 * - The stop of an operation's event means that it was enqueued. It has ended when the last of its
 *   channels has (PROFILER_KERNEL_CH_STOP).
 * - Up to 2.27, nothing inside a group is reported if the group's event has no handle. From 2.28
 *   on it is; and if the group has a handle, collectives of a graph are counted (seq, which RAS
 *   compares between ranks). So from 2.28 on a group gets no handle; otherwise ranks that record
 *   would differ from those that do not.
 * - An `init` that fails makes NCCL 2.29 and later unload the library while other threads may be
 *   inside it, and unload it again when the communicator ends. So ours never fails; it returns no
 *   context and no mask instead.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PROFILER_SUCCESS = 0 }; /* ncclSuccess */

enum { PROFILER_LOG_INFO = 3, PROFILER_LOG_INIT = 1 }; /* NCCL_LOG_INFO; NCCL_INIT */

/* Bits of the mask, and event types. */
enum {
	PROFILER_GROUP = 1,
	PROFILER_COLL = 2,
	PROFILER_P2P = 4,
	PROFILER_PROXY_OP = 8,
	PROFILER_PROXY_STEP = 16,
	PROFILER_PROXY_CTRL = 32,
	PROFILER_KERNEL_CH = 64,
	PROFILER_NET_PLUGIN = 128,
	PROFILER_GROUP_API = 256,
	PROFILER_COLL_API = 512,
	PROFILER_P2P_API = 1024,
	PROFILER_KERNEL_LAUNCH = 2048,
};

/* States; those of a proxy step are enum ring_wait. */
enum { PROFILER_KERNEL_CH_STOP = 22 };

/* NCCL's logger; the user decides what it prints, and where (NCCL_DEBUG). */
typedef void (*profiler_log_fn)(int level, unsigned long subsystems, const char *file, int line,
				const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Parts of an event common to all versions, or to those in the name. */
struct profiler_proxy_op {
	pid_t pid; /* the process that started it; another one with PXN */
	uint8_t channel;
	int peer, n_steps, chunk_size, is_send;
};
struct profiler_kernel_ch {
	uint8_t channel;
	uint64_t gpu_ns; /* not in version 3 */
};
struct profiler_coll_v3 {
	const char *name;
	uint64_t comm_hash, seq;
	const char *func;
	const void *send;
	void *receive;
	size_t count;
	int root;
	const char *datatype;
	uint8_t max_channels, warps;
	const char *algo, *proto;
};
struct profiler_p2p_v3 {
	const char *name;
	uint64_t comm_hash;
	const char *func;
	void *buffer;
	const char *datatype;
	size_t count;
	int peer;
};
/* For version 4 without `group`, which 5 and 6 have. */
struct profiler_coll {
	uint64_t seq;
	const char *func;
	const void *send;
	void *receive;
	size_t count;
	int root;
	const char *datatype;
	uint8_t channels, warps;
	const char *algo, *proto;
	void *group;
};
struct profiler_p2p {
	const char *func;
	void *buffer;
	const char *datatype;
	size_t count;
	int peer;
	uint8_t channels; /* an upper bound */
	void *group;
};

/* An event; the unions only have the members that we read. */
struct profiler_event_v3 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct profiler_coll_v3 coll;
		struct profiler_p2p_v3 p2p;
		struct profiler_proxy_op proxy_op;
		struct profiler_kernel_ch kernel_ch; /* without gpu_ns */
	};
};
struct profiler_event_v4 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct profiler_coll coll; /* without group */
		struct profiler_p2p p2p;   /* without group */
		struct profiler_proxy_op proxy_op;
		struct profiler_kernel_ch kernel_ch;
	};
};
/* Version 6 has further members in the union, for copy engines, which we never ask for. */
struct profiler_event_v5 {
	uint64_t type;
	void *parent;
	int rank;
	union {
		struct profiler_coll coll;
		struct profiler_p2p p2p;
		struct profiler_proxy_op proxy_op;
		struct profiler_kernel_ch kernel_ch;
	};
};

/* Arguments of a new state, versions 4 to 6: a union of one word. */
union profiler_state_args {
	size_t bytes;
	uint64_t gpu_ns; /* with PROFILER_KERNEL_CH_STOP */
};

struct profiler_v3 {
	const char *name;
	int (*init)(void **context, int *mask);
	int (*start)(void *context, void **handle, struct profiler_event_v3 *event);
	int (*stop)(void *handle);
	int (*record)(void *handle, int state, void *args);
	int (*finalize)(void *context);
};
struct profiler_v4 {
	const char *name;
	int (*init)(void **context, int *mask, const char *name, uint64_t comm_id, int n_nodes,
		    int n_ranks, int rank, profiler_log_fn log);
	int (*start)(void *context, void **handle, struct profiler_event_v4 *event);
	int (*stop)(void *handle);
	int (*record)(void *handle, int state, union profiler_state_args *args);
	int (*finalize)(void *context);
};
/* Also version 6. */
struct profiler_v5 {
	const char *name;
	int (*init)(void **context, uint64_t comm_id, int *mask, const char *name, int n_nodes,
		    int n_ranks, int rank, profiler_log_fn log);
	int (*start)(void *context, void **handle, struct profiler_event_v5 *event);
	int (*stop)(void *handle);
	int (*record)(void *handle, int state, union profiler_state_args *args);
	int (*finalize)(void *context);
};
