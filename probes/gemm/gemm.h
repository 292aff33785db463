/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-probe-gemm: matrix products on all devices of an engine at once. Measures how fast each
 * device is while all work (gemm.rate), and whether its products are exactly right (gemm.correct).
 *
 *	gemm_run    other users -> set-up -> gemm_rate -> gemm_check (and gemm_vote)
 *	            -> gemm_launch -> gemm_chain -> gemm_overlap
 *
 * Except for gemm_main.c, the code only knows the operations of accel.h (gemm_overlap also those of
 * coll.h) and a sink for samples, so that tests can run it on a simulated engine and clock.
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
	GEMM_EDGE_MAX = 65536, /* rows, columns and depth in --shape */
	GEMM_DEVICES_MAX = 1024,
	GEMM_WINDOWS = 16,    /* sub-windows per rate */
	GEMM_ROUNDS_MAX = 16, /* products verified per device */
	GEMM_NOTE_SIZE = 256,
};

/* The subject for all GPUs together. */
#define GEMM_ALL_SUBJECT "gpus"

/* The sink for samples. Takes ownership of the contents of `s`, leaving it as by sample_init(). */
struct gemm_sink {
	int (*emit)(void *context, struct sample *s);
	void *context;
};

struct gemm_plan {
	const struct accel_ops *ops;
	struct accel *accel;
	struct accel_gemm_shape shape;
	struct accel_gemm_shape check_shape; /* for verification; m = 0: `shape` is used */
	bool gpu; /* GPUs: clocks are watched, and a process computing on one occupies it */
	uint64_t seed;
	bool launch;		      /* also measure gemm.launch */
	bool chain;		      /* also measure gemm.chain */
	const struct numa_host *numa; /* where threads may run; borrowed; may be NULL */
	const char *cpu;	      /* processor model; borrowed; NULL: unknown */
	bool run_busy;		      /* measure devices that others use, and say so */
	uint64_t warm_us;	      /* warm-up, until clocks and power settle */
	uint64_t rate_us;	      /* measuring the rate */
	uint64_t check_us;	      /* verifying products */
	uint64_t vote_us;	      /* compare random products between devices; 0: do not */
	bool burn;     /* instead of all but gemm.correct, for rate_us: gemm_burn.h */
	double burn_s; /* as requested, in seconds */
	bool overlap;  /* also measure gemm.overlap, using `nccl` */
	uint64_t overlap_us;
	struct nccl_library nccl;
	_Atomic(const char *) check; /* current check, for the watching thread; NULL: gemm.rate */
	uint64_t ready_us;	     /* deadline for per-device threads to set up; monotonic */
	uint64_t spare_us;	     /* for what has no share of its own, and for delays */
	bool leaves;		     /* the process exits right away: nothing is released */
	uint64_t deadline_us;	     /* for everything, on the engine's clock */
	int64_t epoch_us;	     /* UNIX time minus the engine's clock */
	struct gemm_sink sink;
};

/* The buffers and plan of a product on one device. */
struct gemm_job {
	struct accel_region x, y, out;
	struct accel_gemm *gemm;
};

/* What a device's clock, power and temperature did during a measurement. */
struct gemm_clock {
	double sum_hz, min_hz, sum_w, max_w, max_c, max_memory_c;
	unsigned n;		/* readings; 0: unknown */
	unsigned n_w;		/* readings that include power */
	uint64_t reasons;	/* NVML bits of all readings */
	char why[ERR_MSG_SIZE]; /* why the last reading failed; "" if it did not */
};

enum { GEMM_IN_FLIGHT = 3 }; /* windows enqueued ahead, so that a device never idles */

/* A window: `batch` products between two events. */
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
	struct gemm_job check; /* for plan->check_shape; empty if that is not set */
	struct gemm_job hung;  /* used by hung work; released only after the stream */
	struct gemm_clock clock;
	struct gemm_window ring[GEMM_IN_FLIGHT];
	unsigned n_put, n_taken;    /* windows; the difference is in flight */
	unsigned n_warm;	    /* the first window that counts */
	double seconds_per_product; /* of the latest window */
	double taken_flop, taken_s; /* of all windows taken since the last reset */
	double rates[GEMM_WINDOWS]; /* FLOP/s by window */
	size_t n_rates;
	double plain_rate;	       /* gemm.rate as emitted; NAN: not measured */
	struct accel_condition before; /* at the start of the measurement */
	bool in_use;		       /* used by another process before we measured */
	char busy[GEMM_NOTE_SIZE];     /* other users, or what they took, a sentence; "": none */
	int failed;		       /* 0, or the negative errno that excluded it */
	char why[ERR_MSG_SIZE];	       /* the message for that */
	uint64_t n_products;	       /* number verified */
};

struct gemm_run {
	struct gemm_plan *plan;
	struct gemm_device *devices;
	unsigned n;
	uint64_t clock_due_us; /* time of the next reading of the clocks */
};

/*
 * Measure and emit for all devices of the engine. -EINVAL if the shape does not fit or the engine
 * does not support the type; -ENODEV without devices; otherwise what the sink returned. A device
 * that hangs or fails is a sample.
 */
int gemm_run(struct gemm_plan *plan, struct err *err);

/*
 * The same in a thread of its own, for engines whose calls may block. If it has not ended by
 * `deadline_us` (monotonic), emits a timeout sample of the current check for the device queried
 * last and returns -ETIMEDOUT. The engine must then be left open.
 */
int gemm_run_watched(const struct gemm_plan *plan, uint64_t deadline_us, struct err *err);

/* --- one product on one device --- */

/*
 * Create the regions and product for `shape` on the device; release them with gemm_job_release().
 */
int gemm_job_init(struct gemm_device *d, const struct accel_gemm_shape *shape, struct gemm_job *ret,
		  struct err *err);
void gemm_job_release(struct gemm_device *d, struct gemm_job *job);

/* Random factors for a shape: the same for every device, and such that power draw is realistic. */
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

/* Sizes of the factors and of the product, in bytes. */
struct gemm_sizes {
	size_t x, y, out;
};
struct gemm_sizes gemm_sizes(const struct accel_gemm_shape *shape);

/* An alternative shape for retrying, which takes a different path through the device. */
struct accel_gemm_shape gemm_other_shape(const struct accel_gemm_shape *shape);

/* --- gemm_overlap.c --- */

/*
 * If the plan asks for it, measure the rate again while all GPUs run all-reduces: gemm.overlap per
 * GPU, and gemm.overlap_busbw for the all-reduce. A collective that hangs or fails is a sample of
 * the GPU at fault.
 */
int gemm_overlap(struct gemm_run *run);
