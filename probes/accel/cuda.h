/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the CUDA engine only. A device is a GPU in its primary context, made
 * current for the calling thread before each call and created when it is first
 * needed, so that a GPU that others use is looked at (NVML) before anything is
 * put on it. No code of our own runs there: products and copies are those of
 * the libraries.
 *
 * Threads may ask at once, each for a device of its own. Work that nobody waits for any more
 * (watched_is_left()) is refused with -ECANCELED at its next call, so that it ends: it would load
 * the host beside what is measured next.
 *
 * Run against the fakes of tests/fakes so far, not on a GPU.
 */
#pragma once

#include "probes/accel/accel.h"
#include "probes/accel/cuda_load.h"
#include "probes/accel/gpu_users.h"

enum {
	CUDA_DEVICES_MAX = 64,
	/* Kernels, copies and events on one stream: from about 1,000 on a launch would block. */
	CUDA_QUEUE_MAX = 768,
	CUDA_PRODUCT_KERNELS_MAX = 3,	    /* split-K: clear, multiply, add up */
	CUDA_POLL_US = 100,		    /* between two looks at an event */
	CUDA_STAGE_BYTES = 4 * 1024 * 1024, /* pinned, a device: uploads go through it */
	CUDA_STAGE_US = 5000000,	    /* longest wait for that much to be copied */
	CUDA_FREE_US = 500000,		    /* longest wait for a stream's work when it is freed */
	CUDA_WORKSPACE_BYTES = 32 * 1024 * 1024, /* of a product: what cuBLAS advises for Hopper */
};

struct nvml; /* cuda_nvml.c */

/* Pinned memory and a stream of its own, for uploads and downloads. */
struct cuda_stage {
	void *pinned; /* NULL until it is needed */
	struct accel_stream *stream;
	struct accel_event *event;
};

struct cuda_device {
	int handle;
	struct CUctx_st *context; /* NULL until it is needed */
	struct accel_device_info info;
	int major, minor; /* compute capability */
	bool has_dmabuf;
	lt_handle lt; /* NULL until it is needed */
	struct cuda_stage stage;
};

struct cuda {
	struct accel accel; /* first */
	struct cuda_libs libs;
	struct cuda_device *devices;
	unsigned n_devices;
	char version[160];
	struct nvml *nvml;	     /* NULL without it */
	struct gpu_users users;	     /* who is none */
	_Atomic(const char *) asked; /* subject of the device entered last */
	_Atomic bool stuck;	     /* work never came back: free nothing it may touch */
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
	bool late;	    /* a wait for it passed its deadline */
	uint64_t put, done; /* of CUDA_QUEUE_MAX; done is what is known of */
};

struct accel_event {
	struct cuda *cuda;
	unsigned device;
	struct CUevent_st *handle;
	struct accel_stream *stream; /* of the newest record; NULL before */
	uint64_t mark;		     /* what the stream had been given then */
};
