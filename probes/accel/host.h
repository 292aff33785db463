/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the CPU engine only. A device is a physical core, driven through the
 * first of its hardware threads that this process may use; a stream is a POSIX
 * thread pinned there that runs its queue in order.
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
	HOST_STREAMS_MAX = 4,	       /* of one core */
	HOST_STREAM_QUEUE_MAX = 16384, /* work waiting on one stream */
	HOST_STREAM_STOP_US = 500000,  /* longest wait for a stream to end its current work */
	HOST_HUGE_PAGE = 2 * 1024 * 1024,
};

struct host_core {
	unsigned cpu;	  /* logical CPU that its streams are pinned to */
	cpu_set_t *group; /* all logical CPUs of the core, HOST_CPUS_MAX wide */
	int numa;	  /* -1 unknown */
	struct accel_stream *streams[HOST_STREAMS_MAX];
	uint64_t gone_delay_ns; /* run delay of streams that are freed */
	bool answered;		/* others() was asked since the last look */
};

struct host {
	struct accel accel; /* first */
	struct host_core *cores;
	unsigned n_cores;
	char version[64];
	char cpu_model[96];
	struct cpu_look before, now; /* who used what, for others() */
	atomic_bool stuck;	     /* a stream never came back: free nothing it may touch */
};

static inline struct host *host_of(const struct accel *a)
{
	union {
		const struct accel *from;
		struct host *to;
	} same = { .from = a };

	return same.to;
}

/* --- host_topology.c --- */

/*
 * The physical cores that this process may run on, from
 * /sys/devices/system/cpu under the sysroot; a CPU without topology files is
 * its own core. Fills cores and n_cores. -ENODEV when there is none.
 */
int host_find_cores(struct host *h, struct err *err);
void host_free_cores(struct host *h);

/* True when the logical CPU is one of the core's hardware threads. */
bool host_core_has(const struct host_core *core, unsigned cpu);

/* --- host_memory.c --- */

int host_region_new(struct accel *a, unsigned device, const struct accel_memory *memory,
		    struct accel_region *ret, struct err *err);
void host_region_free(struct accel_region *r);
int host_region_export(struct accel_region *r, struct accel_export *ret, struct err *err);
int host_upload(struct accel_region *to, size_t offset, const void *from, size_t size,
		struct err *err);
int host_download(void *to, const struct accel_region *from, size_t offset, size_t size,
		  struct err *err);

/* 0, or -ERANGE with the sentence when [offset, offset + size) is not inside `r`. */
int host_check_range(const struct accel_region *r, size_t offset, size_t size, struct err *err);

/* --- host_stream.c --- */

/* What a stream does next; `run` must not block for long. */
struct host_work {
	void (*run)(const struct host_work *work);
	void *object;		/* event or product */
	const unsigned char *x; /* sources */
	const unsigned char *y;
	unsigned char *out;
	size_t size;
};

int host_stream_new(struct accel *a, unsigned device, struct accel_stream **ret, struct err *err);
void host_stream_free(struct accel_stream *s);
int host_stream_wait(struct accel_stream *s, uint64_t deadline_us, struct err *err);
/* Queue `work` (copied). -EAGAIN at HOST_STREAM_QUEUE_MAX. */
int host_stream_put(struct accel_stream *s, const struct host_work *work, struct err *err);
/* Time its thread was ready but not running. 0 when unknown. */
uint64_t host_stream_delay_ns(const struct accel_stream *s);

int host_copy(struct accel_stream *s, struct accel_at to, struct accel_at from, size_t size,
	      struct err *err);

/* --- host_event.c --- */

int host_event_new(struct accel *a, unsigned device, struct accel_event **ret, struct err *err);
void host_event_free(struct accel_event *e);
int host_event_record(struct accel_event *e, struct accel_stream *s, struct err *err);
int host_event_wait(struct accel_event *e, uint64_t deadline_us, struct err *err);
int host_event_seconds(const struct accel_event *from, const struct accel_event *to, double *ret,
		       struct err *err);

/* A condition variable whose deadlines are CLOCK_MONOTONIC. */
void host_cond_init(pthread_cond_t *cond);
/* Wait for `cond` until `deadline_us`; false when it has passed. */
bool host_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_us);

/* --- host_gemm.c: the only file that knows the BLAS --- */

int host_gemm_new(struct accel *a, unsigned device, const struct accel_gemm_shape *shape,
		  struct accel_gemm **ret, struct err *err);
void host_gemm_free(struct accel_gemm *g);
const char *host_gemm_algorithm(const struct accel_gemm *g);
int host_gemm_run(struct accel_gemm *g, struct accel_stream *s, const struct accel_region *x,
		  const struct accel_region *y, struct accel_region *out, struct err *err);
/* One thread a call; writes "openblas 0.3.21". */
void host_blas_init(char *ret_version, size_t size);

/* --- its condition --- */

int host_condition(struct accel *a, unsigned device, struct accel_condition *ret, struct err *err);
/* Value of the first "key : value" line of /proc/cpuinfo from `cpu` on; NULL. New memory. */
char *host_cpuinfo(unsigned cpu, const char *key);

/* --- who else runs --- */

/* The first look at all processes: from then on others() counts. */
void host_others_init(struct host *h);
void host_others_release(struct host *h);
int host_others(struct accel *a, unsigned device, long *ret_pid, char ret_command[64],
		double *ret_share, struct err *err);
