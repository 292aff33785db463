/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of assay-probe-memory about GPUs: copies between pinned memory of the
 * host and each GPU, on the node where the GPU is and on a far one, one GPU at a
 * time and all at once, from GPU to GPU, and within each; and a pattern check.
 *
 *	gpu_run    who else is there -> set up -> rounds of copies (gpu_copy) -> samples
 *
 * All but gpu_main.c knows only accel.h and a sink for samples, so that tests
 * run it on a simulated engine and clock.
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
	GPU_WINDOWS = 16,  /* of one copy rate */
	GPU_IN_FLIGHT = 3, /* windows put ahead, so that a copy engine never runs dry */
	GPU_QUEUES = 2,	   /* of a GPU: one for each direction */
	GPU_NOTE_SIZE = 160,
	/* Of one copy: what starting it costs is below 1 % of 64 GB/s. */
	GPU_COPY_BYTES = 32 * 1024 * 1024,
	GPU_COPY_MIN = 4096,
	GPU_COPY_MAX = 1024 * 1024 * 1024,
	GPU_LATENCY_BYTES = 4,
	GPU_LATENCY_WINDOWS = 8,
	GPU_MARKS = GPU_LATENCY_WINDOWS + 2,
	GPU_OWN_FACTOR = 8, /* copies within a GPU are larger: more than its L2 holds */
};

enum gpu_kind {
	GPU_H2D,
	GPU_D2H,
	GPU_BIDIR,
	GPU_OWN,
	GPU_P2P,
	GPU_H2D_LAT, /* what one small copy takes */
	GPU_D2H_LAT,
	GPU_KINDS
};
enum gpu_place { GPU_NEAR, GPU_FAR, GPU_PLACES };

struct gpu_plan {
	const struct accel_ops *ops;
	struct accel *accel;
	uint64_t seed;
	uint64_t copy_bytes;		 /* of one copy between host and GPU */
	bool pattern;			 /* try what the memory of GPUs keeps, too */
	bool run_busy;			 /* measure GPUs that others use too, and say so */
	uint64_t ready_us;		 /* when GPUs of threads must be set up; monotonic */
	bool leaves;			 /* the process ends at once: nothing is given back */
	uint64_t deadline_us;		 /* of all, on the engine's clock */
	int64_t epoch_us;		 /* UNIX time less the engine's clock */
	const struct numa_host *host;	 /* nodes of the host; NULL unknown */
	const struct topology *topology; /* for classes and paths; NULL without */
	/* Where samples go. Takes `s` and leaves it as by sample_init(). */
	int (*emit)(void *context, struct sample *s);
	void *context;
};

/* Copies of one batch between two events. */
struct gpu_window {
	struct accel_event *from, *to;
	unsigned batch;
};

struct gpu_queue {
	struct accel_stream *stream;
	struct gpu_window ring[GPU_IN_FLIGHT];
	struct accel_event *marks[GPU_MARKS]; /* of small copies */
};

/* Pinned memory of the host, on one node: `source` has data, `target` gets it. */
struct gpu_pages {
	int node; /* -1: this host has none so far away */
	struct accel_region source, target;
	int failed; /* 0, or the negative errno why there is none */
	char why[ERR_MSG_SIZE];
};

/* A PCIe link: how it runs, and what it can. */
struct gpu_pcie {
	double gts, max_gts, width, max_width;
	bool sure; /* the most is that of both ends */
};

struct gpu_device {
	struct gpu_plan *plan;
	unsigned index;
	struct accel_device_info info;
	char id[32]; /* of the topology: "gpu:0000:1b:00.0" */
	struct gpu_queue queues[GPU_QUEUES];
	struct accel_region memory[2]; /* from and to, of GPU_OWN_FACTOR copies */
	struct gpu_pages pages[GPU_PLACES];
	bool sent;		  /* its memory has what the host's sources have */
	struct gpu_pcie pcie;	  /* as it was under load; zeroes: not known */
	char busy[GPU_NOTE_SIZE]; /* who else computes on it, a sentence; "" nobody */
	int failed;		  /* 0, or the negative errno that took it out */
	char why[ERR_MSG_SIZE];
};

/* Copies from one region to another, over and over on one queue. */
struct gpu_lane {
	struct gpu_device *device;
	struct gpu_queue *queue;
	struct accel_region *to, *from;
	uint64_t bytes;		   /* of one copy */
	unsigned n_put, n_taken;   /* windows; their difference is in flight */
	double seconds_per_copy;   /* the latest window's; 0 unknown */
	double rates[GPU_WINDOWS]; /* bytes per second of each window, or seconds of one copy */
	unsigned n_rates;
};

/* One thing that is measured. */
struct gpu_job {
	enum gpu_kind kind;
	enum gpu_place place; /* of the host's memory */
	struct gpu_device *device;
	struct gpu_device *peer; /* of GPU_P2P: whose memory is written */
	bool direct;		 /* not through the host */
	struct gpu_lane lanes[GPU_QUEUES];
	unsigned n_lanes;
	bool bound; /* seconds of one copy have the host's launches in them */
};

static inline bool gpu_kind_is_latency(enum gpu_kind kind)
{
	return kind == GPU_H2D_LAT || kind == GPU_D2H_LAT;
}

/* Does it go from the GPU to pages of the host? */
static inline bool gpu_kind_goes_out(enum gpu_kind kind)
{
	return kind == GPU_D2H || kind == GPU_D2H_LAT;
}

/* Does it go through pages of the host? */
static inline bool gpu_kind_needs_host(enum gpu_kind kind)
{
	return kind != GPU_OWN && kind != GPU_P2P;
}
