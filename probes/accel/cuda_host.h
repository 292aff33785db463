/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pinned host memory. Without a NUMA node the driver allocates it. On a node it is mapped, bound
 * and only then registered, which allocates its pages.
 */
#pragma once

struct accel_memory;
struct accel_region;
struct cuda;
struct err;

/* Set `ptr` and `backend` of a host region, on `memory->numa` unless that is negative. */
int cuda_host_new(struct cuda *c, unsigned device, const struct accel_memory *memory,
		  struct accel_region *ret, struct err *err);
void cuda_host_free(struct cuda *c, struct accel_region *r);
