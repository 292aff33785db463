/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does what loopback, rnic-pair and all-reduce do with GPU memory, as far as possible without an
 * RNIC: allocates it on every GPU with the same code, exports it as for registration, and reads it
 * back. Prints a line of JSON for each region. It is not a reference: those call the driver directly.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/accel/accel.h"
#include "probes/loopback/data.h"
#include "probes/loopback/loopback_gpu.h"

enum { GPUS_MAX = 64, SEED = 1 };

#define BYTES (UINT64_C(64) << 20) /* what a probe allocates per direction */
#define OPEN_US (30 * USEC_PER_SEC)

/* Is the data still intact after the export? */
static bool is_kept(const struct accel_region *region, int which)
{
	CLEANUP(freep) char *is = xcalloc(1, BYTES);
	CLEANUP(freep) char *was = xcalloc(1, BYTES);

	if (which == GPU_SOURCE)
		data_fill(was, BYTES, SEED);
	return region->accel->ops->download(is, region, 0, BYTES, NULL) == 0 &&
	       memcmp(is, was, BYTES) == 0;
}

static void tell(const struct endpoint *end, int which)
{
	struct accel_region *region = &end->gpu[which];
	struct accel_export export = { .dmabuf_fd = -1 };
	struct err err = ERR_INIT;
	int r = region->accel->ops->region_export(region, &export, &err);
	const char *way = export.dmabuf_fd >= 0 ? "dmabuf"
			  : export.peer_direct	? "peermem"
						: "none";
	CLEANUP(json_freep)
	json_t *line = json_pack("{s:s, s:s, s:s, s:b}", "gpu", end->subject, "way",
				 r < 0 ? "none" : way, "why", r < 0 ? err.msg : export.why, "kept",
				 is_kept(region, which));
	CLEANUP(freep) char *text = json_dumps(line, JSON_COMPACT);

	(void)printf("%s\n", text ? text : "{}");
	if (export.dmabuf_fd >= 0)
		(void)close(export.dmabuf_fd);
}

int main(void)
{
	struct gpu_endpoints gpus = { .engine = &accel_cuda_copy_ops,
				      .bytes = BYTES,
				      .seed = SEED,
				      .run_busy = true,
				      .open_us = OPEN_US };
	static struct endpoint ends[GPUS_MAX];
	struct err err = ERR_INIT;
	size_t n = 0, i;
	int r = gpu_endpoints_open(&gpus, ends, &n, GPUS_MAX, &err), which, failed = r < 0;

	if (r < 0)
		(void)fprintf(stderr, "%s\n", err.msg);
	for (i = 0; i < n; i++) {
		if (ends[i].broken)
			(void)fprintf(stderr, "%s: %s\n", ends[i].subject, ends[i].broken);
		failed = failed || ends[i].broken;
		for (which = 0; !ends[i].broken && which < GPU_REGIONS; which++)
			tell(&ends[i], which);
		gpu_endpoint_release(&ends[i]);
		free(ends[i].id);
	}
	gpu_endpoints_close(&gpus);
	return failed;
}
