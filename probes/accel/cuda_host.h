/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pinned memory of the host. Without a node the driver gives it; on a node it is
 * mapped, bound and only then registered, which is when its pages are taken.
 */
#pragma once

struct accel_memory;
struct accel_region;
struct cuda;
struct err;

/* Fill `ptr` and `backend` of a region of the host; on `memory->numa` when that is not negative. */
int cuda_host_new(struct cuda *c, unsigned device, const struct accel_memory *memory,
		  struct accel_region *ret, struct err *err);
void cuda_host_free(struct cuda *c, struct accel_region *r);
