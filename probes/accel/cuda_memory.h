/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU memory, and pinned host memory for GPUs. Uploads and downloads go through our own pinned
 * memory, because a copy from pageable memory would block in the driver without a deadline if the
 * GPU is faulty.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "probes/accel/accel.h"
#include "probes/accel/cuda_abi.h"

struct accel_stream;
struct cuda;
struct err;

int cuda_region_new(struct accel *a, unsigned device, const struct accel_memory *memory,
		    struct accel_region *ret, struct err *err);
void cuda_region_free(struct accel_region *r);
int cuda_region_export(struct accel_region *r, struct accel_export *ret, struct err *err);
int cuda_copy(struct accel_stream *s, struct accel_at to, struct accel_at from, size_t size,
	      struct err *err);
int cuda_upload(struct accel_region *to, size_t offset, const void *from, size_t size,
		struct err *err);
int cuda_download(void *to, const struct accel_region *from, size_t offset, size_t size,
		  struct err *err);
void cuda_stage_release(struct cuda *c, unsigned device);

/* The address as passed to the driver, which knows where it is. */
static inline cuda_ptr cuda_address(const struct accel_region *r, size_t offset)
{
	return (cuda_ptr)(uintptr_t)r->ptr + offset;
}

int cuda_peer_open(struct accel *a, unsigned device, unsigned peer, struct err *err);
