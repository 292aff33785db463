/* SPDX-License-Identifier: Apache-2.0 */
/* GPU memory as endpoints, through an accelerator engine. */
#pragma once

#include "probes/loopback/loopback.h"

struct accel_ops;
struct err;

/* The regions of each GPU. */
enum { GPU_SOURCE, GPU_TARGET, GPU_REGIONS };

/* Endpoints for the GPUs of an engine. Input: `engine` to `open_us`. */
struct gpu_endpoints {
	const struct accel_ops *engine; /* NULL: none */
	uint64_t bytes;	     /* of each half, at most 64 MiB, so that it fits a small BAR1 */
	uint64_t seed;	     /* of the data */
	bool run_busy;	     /* use GPUs that others compute on, too */
	uint64_t open_us;    /* how long to wait for all GPUs, which may hang */
	struct accel *accel; /* once opened; NULL: no GPUs on this host */
};

/*
 * Open the engine and append an endpoint for every GPU to `ends`, at `*n` of `max`. A GPU whose
 * memory is unavailable, or used by others, gets an endpoint too, with the reason in `broken`.
 * Returns 0 if there is no engine. If the engine cannot be opened, nothing is added and its error
 * is returned; -ETIMEDOUT if a driver call hangs.
 */
int gpu_endpoints_open(struct gpu_endpoints *gpus, struct endpoint *ends, size_t *n, size_t max,
		       struct err *err);

/* Release the GPU resources of an endpoint; does nothing for others. */
void gpu_endpoint_release(struct endpoint *end);

/*
 * To be called after all its endpoints are released. An engine that ends slowly is left to the end
 * of the process.
 */
void gpu_endpoints_close(struct gpu_endpoints *gpus);
