/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL as a profiler plug-in sees it: loads the library like NCCL, the newest symbol first, has one
 * mask per process, and calls in the order of NVIDIA/nccl's src/plugin/profiler.cc (v2.26.2-1 for
 * version 3, v2.27.7-1 for 4, v2.28.9-1 for 5, v2.30.7-1 for 6).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "plugins/nccl/profiler_api.h"

enum { FAKE_LOG_MAX = 16, FAKE_LINE_MAX = 256 };

struct fake_nccl {
	void *library;
	int api; /* 3 to 6; 0: no known symbol */
	union {
		void *object;
		struct profiler_v3 *v3;
		struct profiler_v4 *v4;
		struct profiler_v5 *v5;
	};
	int mask;
};

struct fake_comm {
	struct fake_nccl *nccl;
	void *context;
	uint64_t id;
	int rank, n_ranks, n_nodes;
	uint64_t seq; /* one counter for all functions */
	bool graph;   /* operations are replayed from a CUDA graph: not counted */
};

/* An operation in progress. */
struct fake_op {
	const char *func;
	uint64_t count;
	int peer, channels;
	void *group, *handle;
};

/* The result of ncclGetVersion(), 0: it fails. The free bytes of /dev/shm reported by statvfs(3). */
extern int fake_version;
extern uint64_t fake_shm_free;

/* Lines passed to the logger. */
extern char fake_log[FAKE_LOG_MAX][FAKE_LINE_MAX];
extern _Atomic int fake_log_lines;

/* Loads the plug-in. `newest` is the newest version this NCCL supports. Returns false if there is
 * no such file. */
bool fake_load(struct fake_nccl *nccl, const char *path, int newest);
void fake_unload(struct fake_nccl *nccl);

/* Creates a communicator, which calls init. Its id is the same for all ranks. */
void fake_comm_open(struct fake_nccl *nccl, struct fake_comm *comm, uint64_t id, int rank,
		    int n_ranks, int n_nodes);
void fake_comm_close(struct fake_comm *comm);

/* Launches a group of operations: their events start, are enqueued and end together. */
void fake_launch(struct fake_comm *comm, struct fake_op *ops, int n);

/* Events of the proxy thread, for one channel of an operation. */
void *fake_start(struct fake_comm *comm, const void *op, int channel, uint64_t ns);
void fake_stop(struct fake_nccl *nccl, void *kernel, uint64_t ns);
void *fake_proxy(struct fake_comm *comm, void *op, pid_t pid, int rank, int channel);
void *fake_step(struct fake_comm *comm, void *proxy);

/* Single calls, regardless of the mask. */
void *fake_event(struct fake_comm *comm, uint64_t type, void *parent);
void fake_end(struct fake_nccl *nccl, void *handle);
void fake_state(struct fake_nccl *nccl, void *handle, int state, uint64_t ns);
