/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of GPUs as endpoints, through an accelerator engine. */
#pragma once

#include "probes/loopback/loopback.h"

struct accel_ops;

/* Each GPU's source and target. */
enum { GPU_SOURCE, GPU_TARGET, GPU_REGIONS };

/* The endpoints that an engine's GPUs add. */
struct gpu_endpoints {
	const struct accel_ops *engine; /* NULL: none; given */
	uint64_t bytes;	     /* of each half, at most 64 MiB: what a small BAR1 shows; given */
	uint64_t seed;	     /* of the data; given */
	struct accel *accel; /* opened; NULL: there are no GPUs here */
};

/*
 * Open the engine and add an endpoint for every GPU to `ends`, at `*n` of `max`. An engine
 * that does not open adds nothing and is no error: there are then no GPUs here. A GPU
 * whose memory cannot be had is an endpoint too, with the reason in `broken`.
 */
void gpu_endpoints_open(struct gpu_endpoints *gpus, struct endpoint *ends, size_t *n, size_t max);

/* Release what an endpoint has of its GPU; nothing for others. */
void gpu_endpoint_release(struct endpoint *end);

/* After all its endpoints. */
void gpu_endpoints_close(struct gpu_endpoints *gpus);
