/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the CUDA engine. A device is a GPU in its primary context, made current for the
 * calling thread before each call. The context is created on first use, so that a GPU is checked
 * for other users (NVML) before anything is put on it. No code of our own runs on GPUs: products
 * and copies are those of the libraries.
 *
 * Threads may call at once, each for a different device. The next call of abandoned work
 * (watched_is_left()) is refused with -ECANCELED, so that it ends and does not load the host during
 * later measurements.
 *
 * So far run only against the fakes in tests/fakes, not on a GPU.
 */
#pragma once

#include "probes/accel/accel.h"
#include "probes/accel/cuda_load.h"
#include "probes/accel/gpu_users.h"

enum {
	CUDA_DEVICES_MAX = 64,
	/* Kernels, copies and events per stream: beyond about 1,000 a launch would block. */
	CUDA_QUEUE_MAX = 768,
	CUDA_PRODUCT_KERNELS_MAX = 3,	    /* split-K: clear, multiply, add up */
	CUDA_POLL_US = 100,		    /* between two queries of an event */
	CUDA_STAGE_BYTES = 4 * 1024 * 1024, /* pinned memory per device for uploads and downloads */
	CUDA_STAGE_US = 5000000,	    /* longest wait for a copy of that size */
	CUDA_FREE_US = 500000,		    /* longest wait for a stream's work when it is freed */
	CUDA_WORKSPACE_BYTES = 32 * 1024 * 1024, /* per product: as cuBLAS advises for Hopper */
};

struct nvml; /* cuda_nvml.c */

/* Pinned memory with a stream of its own, for uploads and downloads. */
struct cuda_stage {
	void *pinned; /* NULL until needed */
	struct accel_stream *stream;
	struct accel_event *event;
};

struct cuda_device {
	int handle;
	struct CUctx_st *context; /* NULL until needed */
	struct accel_device_info info;
	int major, minor; /* compute capability */
	bool has_dmabuf;
	lt_handle lt; /* NULL until needed */
	struct cuda_stage stage;
};

struct cuda {
	struct accel accel; /* first */
	struct cuda_libs libs;
	struct cuda_device *devices;
	unsigned n_devices;
	char version[160];
	struct nvml *nvml;	     /* NULL without NVML */
	struct gpu_users users;	     /* processes that do not count as users */
	_Atomic(const char *) asked; /* subject of the device entered last */
	_Atomic bool stuck;	     /* work hangs: free nothing that it may access */
};

static inline struct cuda *cuda_of(const struct accel *a)
{
	union {
		const struct accel *from;
		struct cuda *to;
	} same = { .from = a };

	return same.to;
}

struct accel_stream {
	struct cuda *cuda;
	unsigned device;
	struct CUstream_st *handle;
	bool late;	    /* a wait for it has timed out */
	uint64_t put, done; /* counts for CUDA_QUEUE_MAX; done is a lower bound */
};

struct accel_event {
	struct cuda *cuda;
	unsigned device;
	struct CUevent_st *handle;
	struct accel_stream *stream; /* of the latest record; NULL before */
	uint64_t mark;		     /* the stream's `put` at that time */
};
