/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the CPU engine: near its core, and on huge pages if available. */
#pragma once

#include <stddef.h>

struct accel;
struct accel_export;
struct accel_memory;
struct accel_region;
struct err;

int host_region_new(struct accel *a, unsigned device, const struct accel_memory *memory,
		    struct accel_region *ret, struct err *err);
void host_region_free(struct accel_region *r);
int host_region_export(struct accel_region *r, struct accel_export *ret, struct err *err);
int host_upload(struct accel_region *to, size_t offset, const void *from, size_t size,
		struct err *err);
int host_download(void *to, const struct accel_region *from, size_t offset, size_t size,
		  struct err *err);

/* -ERANGE with a message if [offset, offset + size) is not within `r`; otherwise 0. */
int host_check_range(const struct accel_region *r, size_t offset, size_t size, struct err *err);
