/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of GPUs as endpoints, through an accelerator engine. */
#pragma once

#include "probes/loopback/loopback.h"

struct accel_ops;
struct err;

/* Each GPU's source and target. */
enum { GPU_SOURCE, GPU_TARGET, GPU_REGIONS };

/* The endpoints that an engine's GPUs add. */
struct gpu_endpoints {
	const struct accel_ops *engine; /* NULL: none; given */
	uint64_t bytes;	     /* of each half, at most 64 MiB: what a small BAR1 shows; given */
	uint64_t seed;	     /* of the data; given */
	bool run_busy;	     /* take memory of GPUs that others compute on too; given */
	uint64_t open_us;    /* longest wait for all GPUs, which may not answer; given */
	struct accel *accel; /* opened; NULL: there are no GPUs here */
};

/*
 * Open the engine and add an endpoint for every GPU to `ends`, at `*n` of `max`. A GPU
 * whose memory cannot be had, or is in use by others, is an endpoint too, with the
 * reason in `broken`. No engine is 0. An engine that does not open adds nothing: its
 * error, with the sentence; one whose calls do not come back: -ETIMEDOUT.
 */
int gpu_endpoints_open(struct gpu_endpoints *gpus, struct endpoint *ends, size_t *n, size_t max,
		       struct err *err);

/* Release what an endpoint has of its GPU; nothing for others. */
void gpu_endpoint_release(struct endpoint *end);

/* After all its endpoints. An engine that ends slowly is left to the end of the process. */
void gpu_endpoints_close(struct gpu_endpoints *gpus);
