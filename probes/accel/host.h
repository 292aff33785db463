/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the CPU engine. A device is a physical core, used through the first of its hardware
 * threads that is allowed for this process. A stream is a POSIX thread pinned to it that runs its
 * queue in order.
 */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "probes/accel/accel.h"
#include "probes/harness/cpu_use.h"

enum {
	HOST_CORES_MAX = 1024,	       /* physical cores */
	HOST_CPUS_MAX = 8192,	       /* logical CPUs: NR_CPUS of distribution kernels */
	HOST_STREAMS_MAX = 4,	       /* per core */
	HOST_STREAM_QUEUE_MAX = 16384, /* work queued per stream */
	HOST_STREAM_STOP_US = 500000,  /* longest wait for a stream to finish its current work */
	HOST_HUGE_PAGE = 2 * 1024 * 1024,
};

struct host_core {
	unsigned cpu;	  /* logical CPU that its streams are pinned to */
	cpu_set_t *group; /* all logical CPUs of the core, HOST_CPUS_MAX wide */
	int numa;	  /* -1: unknown */
	struct accel_stream *streams[HOST_STREAMS_MAX];
	uint64_t gone_delay_ns; /* run delay of streams already freed */
	bool answered;		/* others() was called since the last look */
};

struct host {
	struct accel accel; /* first */
	struct host_core *cores;
	unsigned n_cores;
	char version[64];
	char cpu_model[96];
	struct cpu_look before, now; /* process times, for others() */
	atomic_bool stuck;	     /* a stream hangs: free nothing that it may access */
};

static inline struct host *host_of(const struct accel *a)
{
	union {
		const struct accel *from;
		struct host *to;
	} same = { .from = a };

	return same.to;
}

/* --- condition --- */

int host_condition(struct accel *a, unsigned device, struct accel_condition *ret, struct err *err);
/* Value of the first "key : value" line in /proc/cpuinfo from `cpu` on; NULL. Caller frees. */
char *host_cpuinfo(unsigned cpu, const char *key);

/* --- other processes --- */

/* Take the first look at all processes: others() counts from here. */
void host_others_init(struct host *h);
void host_others_release(struct host *h);
int host_others(struct accel *a, unsigned device, long *ret_pid, char ret_command[64],
		double *ret_share, struct err *err);
