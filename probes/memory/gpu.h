/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU part of assay-probe-memory: copies between pinned host memory (on the GPU's node and on a
 * far one) and each GPU, for one GPU at a time and for all at once; copies between GPUs and within
 * each; and a pattern check.
 *
 *	gpu_run    other users -> set-up -> rounds of copies (gpu_copy) -> samples
 *
 * Except for gpu_main.c, the code only knows accel.h and a sink for samples, so that tests can run
 * it on a simulated engine and clock.
 */
#pragma once

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/report/report.h"
#include "probes/accel/accel.h"
#include "probes/memory/numa.h"

struct probe;
struct topology;

enum {
	GPU_DEVICES_MAX = 64,
	GPU_WINDOWS = 16,  /* per copy rate */
	GPU_IN_FLIGHT = 3, /* windows enqueued ahead, so that a copy engine never idles */
	GPU_QUEUES = 2,	   /* per GPU: one for each direction */
	GPU_NOTE_SIZE = 160,
	/* Per copy: the start-up cost is below 1 % at 64 GB/s. */
	GPU_COPY_BYTES = 32 * 1024 * 1024,
	GPU_COPY_MIN = 4096,
	GPU_COPY_MAX = 1024 * 1024 * 1024,
	GPU_LATENCY_BYTES = 4,
	GPU_LATENCY_WINDOWS = 8,
	GPU_MARKS = GPU_LATENCY_WINDOWS + 2,
	GPU_OWN_FACTOR = 8, /* copies within a GPU are larger than its L2 */
};

enum gpu_kind {
	GPU_H2D,
	GPU_D2H,
	GPU_BIDIR,
	GPU_OWN,
	GPU_P2P,
	GPU_H2D_LAT, /* time of a small copy */
	GPU_D2H_LAT,
	GPU_KINDS
};
enum gpu_place { GPU_NEAR, GPU_FAR, GPU_PLACES };

struct gpu_plan {
	const struct accel_ops *ops;
	struct accel *accel;
	uint64_t seed;
	uint64_t copy_bytes;		 /* per copy between host and GPU */
	bool pattern;			 /* also test what GPU memory retains */
	bool run_busy;			 /* also measure GPUs that others use, and say so */
	uint64_t ready_us;		 /* deadline for per-GPU threads to set up; monotonic */
	bool leaves;			 /* the process exits right away: nothing is released */
	uint64_t deadline_us;		 /* for everything, on the engine's clock */
	int64_t epoch_us;		 /* UNIX time minus the engine's clock */
	const struct numa_host *host;	 /* NUMA nodes; NULL: unknown */
	const struct topology *topology; /* for classes and paths; may be NULL */
	/* The sink for samples. Takes over the contents of `s`, leaving it as by sample_init(). */
	int (*emit)(void *context, struct sample *s);
	void *context;
};

/* A batch of copies between two events. */
struct gpu_window {
	struct accel_event *from, *to;
	unsigned batch;
};

struct gpu_queue {
	struct accel_stream *stream;
	struct gpu_window ring[GPU_IN_FLIGHT];
	struct accel_event *marks[GPU_MARKS]; /* for small copies */
};

/* Pinned host memory on one node: copies read `source` and write `target`. */
struct gpu_pages {
	int node; /* -1: this host has no such far node */
	struct accel_region source, target;
	int failed; /* 0, or a negative errno if unavailable */
	char why[ERR_MSG_SIZE];
};

/* A PCIe link: its current and maximum speed and width. */
struct gpu_pcie {
	double gts, max_gts, width, max_width;
	bool sure; /* the maximum is known for both ends */
};

struct gpu_device {
	struct gpu_plan *plan;
	unsigned index;
	struct accel_device_info info;
	char id[32]; /* in the topology: "gpu:0000:1b:00.0" */
	struct gpu_queue queues[GPU_QUEUES];
	struct accel_region memory[2]; /* from and to, GPU_OWN_FACTOR copies each */
	struct gpu_pages pages[GPU_PLACES];
	bool sent;		  /* its memory has a copy of the host's source */
	struct gpu_pcie pcie;	  /* under load; all zero: unknown */
	char busy[GPU_NOTE_SIZE]; /* who else computes on it, a sentence; "": nobody */
	int failed;		  /* 0, or the negative errno that excluded it */
	char why[ERR_MSG_SIZE];
};

/* Repeated copies from one region to another, on one queue. */
struct gpu_lane {
	struct gpu_device *device;
	struct gpu_queue *queue;
	struct accel_region *to, *from;
	uint64_t bytes;		   /* per copy */
	unsigned n_put, n_taken;   /* windows; the difference is in flight */
	double seconds_per_copy;   /* of the latest window; 0: unknown */
	double rates[GPU_WINDOWS]; /* bytes per second, by window; for latency: seconds per copy */
	unsigned n_rates;
};

/* One measurement. */
struct gpu_job {
	enum gpu_kind kind;
	enum gpu_place place; /* of the host memory */
	struct gpu_device *device;
	struct gpu_device *peer; /* for GPU_P2P: the GPU that is written to */
	bool direct;		 /* not through host memory */
	struct gpu_lane lanes[GPU_QUEUES];
	unsigned n_lanes;
	bool bound; /* latency: the seconds include launches by the host */
};

static inline bool gpu_kind_is_latency(enum gpu_kind kind)
{
	return kind == GPU_H2D_LAT || kind == GPU_D2H_LAT;
}

/* Does it copy from the GPU to host memory? */
static inline bool gpu_kind_goes_out(enum gpu_kind kind)
{
	return kind == GPU_D2H || kind == GPU_D2H_LAT;
}

/* Does it use host memory? */
static inline bool gpu_kind_needs_host(enum gpu_kind kind)
{
	return kind != GPU_OWN && kind != GPU_P2P;
}
