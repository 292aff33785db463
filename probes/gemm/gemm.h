/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-probe-gemm: matrix products on all devices of an engine at once. How
 * fast each device is while all work (gemm.rate), and whether its products
 * are exactly right (gemm.correct).
 *
 *	gemm_run    look who else is there -> set up -> gemm_rate -> gemm_check (and gemm_vote)
 *	            -> gemm_launch -> gemm_chain -> gemm_overlap
 *
 * Everything but gemm_main.c knows only the operations of accel.h (gemm_overlap
 * those of coll.h too) and a sink for samples, so that tests run it on a
 * simulated engine and clock.
 */
#pragma once

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/report/report.h"
#include "probes/accel/accel.h"
#include "probes/coll/nccl.h"
#include "probes/coll/nccl_load.h"

struct numa_host; /* probes/memory/numa.h */

enum {
	GEMM_EDGE_MAX = 65536, /* rows, columns and depth of --shape */
	GEMM_DEVICES_MAX = 1024,
	GEMM_WINDOWS = 16,    /* sub-windows of a rate */
	GEMM_ROUNDS_MAX = 16, /* products verified on each device */
	GEMM_NOTE_SIZE = 256,
};

/* The subject of what all GPUs do together. */
#define GEMM_ALL_SUBJECT "gpus"

/* Where samples go. Takes `s` and leaves it as by sample_init(). */
struct gemm_sink {
	int (*emit)(void *context, struct sample *s);
	void *context;
};

struct gemm_plan {
	const struct accel_ops *ops;
	struct accel *accel;
	struct accel_gemm_shape shape;
	struct accel_gemm_shape check_shape; /* of what is verified; m = 0: the same products */
	bool gpu; /* GPUs: clocks are watched, and who computes on one has it whole */
	uint64_t seed;
	bool launch;		      /* measure gemm.launch too */
	bool chain;		      /* measure gemm.chain too */
	const struct numa_host *numa; /* where threads may run; borrowed; NULL unknown */
	const char *cpu;	      /* model of the processor; borrowed; NULL unknown */
	bool run_busy;		      /* measure devices that others use too, and say so */
	uint64_t warm_us;	      /* warm-up of the rate: clocks and power settle */
	uint64_t rate_us;	      /* measuring the rate */
	uint64_t check_us;	      /* verifying products */
	uint64_t vote_us; /* comparing those of random data between devices; 0: not at all */
	bool burn;	  /* in place of all but gemm.correct, for rate_us: gemm_burn.h */
	double burn_s;	  /* what was asked for, in seconds */
	bool overlap;	  /* measure gemm.overlap too, with `nccl` */
	uint64_t overlap_us;
	struct nccl_library nccl;
	_Atomic(const char *) check; /* what is being measured, for who waits; NULL: gemm.rate */
	uint64_t ready_us;	     /* when devices of threads must be set up; monotonic */
	uint64_t spare_us;	     /* for what has no share of its own, and for what runs late */
	bool leaves;		     /* the process ends at once: nothing is given back */
	uint64_t deadline_us;	     /* of all, on the engine's clock */
	int64_t epoch_us;	     /* UNIX time less the engine's clock */
	struct gemm_sink sink;
};

/* Buffers of one product and the product, on one device. */
struct gemm_job {
	struct accel_region x, y, out;
	struct accel_gemm *gemm;
};

/* What a device's clock did while it was measured. */
struct gemm_clock {
	double sum_hz, min_hz, sum_w, max_w, max_c, max_memory_c;
	unsigned n;		/* looks; 0: unknown */
	unsigned n_w;		/* those that told the power */
	uint64_t reasons;	/* NVML bits of all looks */
	char why[ERR_MSG_SIZE]; /* why the latest look failed; "" it did not */
};

enum { GEMM_IN_FLIGHT = 3 }; /* windows put ahead, so that a device never runs dry */

/* One window: `batch` products between two events. */
struct gemm_window {
	struct accel_event *from, *to;
	unsigned batch;
};

struct gemm_device {
	struct gemm_plan *plan;
	unsigned index;
	struct accel_device_info info;
	struct accel_stream *stream;
	struct gemm_job job;
	struct gemm_job check; /* of plan->check_shape; empty when that is not set */
	struct gemm_job hung;  /* of what did not end in the stream, which is freed before it */
	struct gemm_clock clock;
	struct gemm_window ring[GEMM_IN_FLIGHT];
	unsigned n_put, n_taken;    /* windows put and taken; their difference is in flight */
	unsigned n_warm;	    /* the first window that counts */
	double seconds_per_product; /* the latest window's */
	double taken_flop, taken_s; /* of all windows taken since who counts them began anew */
	double rates[GEMM_WINDOWS]; /* FLOP/s of each window */
	size_t n_rates;
	double plain_rate;	       /* gemm.rate as it was told; NAN: it was not measured */
	struct accel_condition before; /* at the start of the measurement */
	bool in_use;		       /* a process of others had it before we measured */
	char busy[GEMM_NOTE_SIZE];     /* who else had it or took from it, a sentence; "" nobody */
	int failed;		       /* 0, or the negative errno that took it out */
	char why[ERR_MSG_SIZE];	       /* its words */
	uint64_t n_products;	       /* verified */
};

struct gemm_run {
	struct gemm_plan *plan;
	struct gemm_device *devices;
	unsigned n;
	uint64_t clock_due_us; /* when clocks are looked at next */
};

/*
 * Measure and emit for all devices of the engine. -EINVAL when the shape does
 * not fit or the engine does not multiply this type; -ENODEV without devices;
 * else what the sink returned. A device that hangs or fails is a sample.
 */
int gemm_run(struct gemm_plan *plan, struct err *err);

/*
 * The same in a thread of its own, for engines whose calls may block: when it
 * is not over at `deadline_us` (monotonic), a gemm.rate of the device that was
 * asked last is emitted as a timeout, and it is -ETIMEDOUT. The engine must
 * then be left open.
 */
int gemm_run_watched(const struct gemm_plan *plan, uint64_t deadline_us, struct err *err);

/* --- one product on one device --- */

/* Regions and product for `shape` on the device; release with gemm_job_release(). */
int gemm_job_init(struct gemm_device *d, const struct accel_gemm_shape *shape, struct gemm_job *ret,
		  struct err *err);
void gemm_job_release(struct gemm_device *d, struct gemm_job *job);

/* Random factors of a shape: the same for every device, and drawing the power of real work. */
struct gemm_factors {
	void *x, *y;
	size_t x_size, y_size;
};

/* -ENOMEM. */
int gemm_factors_init(const struct accel_gemm_shape *shape, uint64_t seed, struct gemm_factors *ret,
		      struct err *err);
void gemm_factors_release(struct gemm_factors *f);
int gemm_factors_upload(struct gemm_device *d, const struct gemm_factors *f, struct gemm_job *job,
			struct err *err);

/* Bytes of the factors and of the product. */
struct gemm_sizes {
	size_t x, y, out;
};
struct gemm_sizes gemm_sizes(const struct accel_gemm_shape *shape);

/* The other one, for trying again: another way through the device. */
struct accel_gemm_shape gemm_other_shape(const struct accel_gemm_shape *shape);

/* --- gemm_overlap.c --- */

/*
 * Where the plan wants it, measure the rate again while all GPUs reduce among
 * them: gemm.overlap of each, and gemm.overlap_busbw of that. A collective that
 * hangs or fails is a sample of the GPU at fault.
 */
int gemm_overlap(struct gemm_run *run);
