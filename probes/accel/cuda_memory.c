/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/cuda_memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"
#include "probes/accel/cuda_context.h"
#include "probes/accel/cuda_host.h"
#include "probes/accel/cuda_stream.h"

static int check_range(const struct accel_region *r, size_t offset, size_t size, struct err *err)
{
	if (offset <= r->size && size <= r->size - offset)
		return 0;
	return err_set(err, ERANGE, "offset %zu and %zu bytes are outside a region of %zu", offset,
		       size, r->size);
}

/* "12 MiB wanted, 3 of 81559 MiB free"; others() says who uses the rest. */
static int no_memory(struct cuda *c, unsigned device, size_t size, struct err *err)
{
	size_t available = 0, total = 0;

	(void)c->libs.driver.mem_info(&available, &total);
	return err_set(err, ENOMEM, "%s: out of memory: %zu MiB wanted, %zu of %zu MiB free",
		       c->devices[device].info.subject, size >> 20, available >> 20, total >> 20);
}

static int allocate(struct cuda *c, unsigned device, size_t size, void **ret, struct err *err)
{
	cuda_ptr address = 0;
	unsigned result = c->libs.driver.mem_alloc(&address, size);

	if (result == CUDA_OUT_OF_MEMORY)
		return no_memory(c, device, size, err);
	*ret = (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
	return cuda_check(c, device, result, "cannot allocate memory", err);
}

int cuda_region_new(struct accel *a, unsigned device, const struct accel_memory *memory,
		    struct accel_region *ret, struct err *err)
{
	struct accel_region region = {
		.accel = a,
		.device = device,
		.place = memory->place,
		.size = memory->size,
		.host_visible = memory->place == ACCEL_HOST_PINNED,
	};
	struct cuda *c = cuda_of(a);
	int r;

	if (memory->size == 0 || memory->size > SIZE_MAX / 2)
		return err_set(err, EINVAL, "a region of %zu bytes", memory->size);
	r = cuda_enter(c, device, err);
	if (r == 0 && region.host_visible)
		r = cuda_host_new(c, device, memory, &region, err);
	else if (r == 0)
		r = allocate(c, device, memory->size, &region.ptr, err);
	if (r == 0)
		*ret = region;
	return r;
}

void cuda_region_free(struct accel_region *r)
{
	struct cuda *c;

	if (!r->ptr)
		return;
	c = cuda_of(r->accel);
	if (c->stuck || cuda_enter(c, r->device, NULL) < 0)
		return;
	if (r->place == ACCEL_HOST_PINNED)
		cuda_host_free(c, r);
	else
		(void)c->libs.driver.mem_free(cuda_address(r, 0));
	*r = (struct accel_region){ 0 };
}

/* Is a module loaded that lets RNICs access GPU memory by address? */
static bool has_peermem(void)
{
	CLEANUP(closep) int now = paths_open_sys("/sys/module/nvidia_peermem");
	CLEANUP(closep) int once = paths_open_sys("/sys/module/nv_peer_mem");

	return now >= 0 || once >= 0;
}

/*
 * By dmabuf, otherwise by peermem. Because RNICs read the results of copies, these must have
 * finished when the driver says so; CUDA_POINTER_SYNC_MEMOPS requests that.
 */
int cuda_region_export(struct accel_region *r, struct accel_export *ret, struct err *err)
{
	struct accel_export export = { .dmabuf_fd = -1 };
	struct cuda *c = cuda_of(r->accel);
	unsigned yes = 1, result = CUDA_NOT_SUPPORTED;
	int fd = -1, failed;
	char words[160];

	if (r->place == ACCEL_HOST_PINNED) {
		export.peer_direct = true;
		(void)snprintf(export.why, sizeof(export.why), "host memory needs no dmabuf");
		*ret = export;
		return 0;
	}
	failed = cuda_enter(c, r->device, err);
	if (failed < 0)
		return failed;
	if (c->libs.driver.pointer_set)
		(void)c->libs.driver.pointer_set(&yes, CUDA_POINTER_SYNC_MEMOPS, cuda_address(r, 0));
	if (c->devices[r->device].has_dmabuf)
		result = c->libs.driver.mem_handle(&fd, cuda_address(r, 0), r->size,
						   CUDA_HANDLE_DMABUF_FD, 0);
	cuda_words(&c->libs.driver, result, words);
	if (result == CUDA_OK)
		export.dmabuf_fd = fd;
	export.peer_direct = has_peermem(); /* for RNICs without dmabuf support */
	(void)snprintf(export.why, sizeof(export.why), "%s%.90s",
		       result == CUDA_OK ? "dmabuf" : "no dmabuf: ", result == CUDA_OK ? "" : words);
	if (export.dmabuf_fd < 0 && !export.peer_direct)
		return err_set(err, ENOTSUP, "%s: %s, and nvidia_peermem is not loaded",
			       c->devices[r->device].info.subject, export.why);
	*ret = export;
	return 0;
}

int cuda_peer_open(struct accel *a, unsigned device, unsigned peer, struct err *err)
{
	struct cuda *c = cuda_of(a);
	unsigned result;
	int can = 0, r = cuda_enter(c, peer, err); /* to create its context */

	if (r == 0)
		r = cuda_enter(c, device, err);
	if (r < 0)
		return r;
	result = c->libs.driver.can_access(&can, c->devices[device].handle, c->devices[peer].handle);
	if (result == CUDA_OK && !can)
		return err_set(err, ENOTSUP, "%s cannot reach the memory of %s directly",
			       c->devices[device].info.subject, c->devices[peer].info.subject);
	if (result == CUDA_OK)
		result = c->libs.driver.peer_enable(c->devices[peer].context, 0);
	return result == CUDA_PEER_ALREADY
		       ? 0
		       : cuda_check(c, device, result, "cannot open a peer's memory", err);
}

int cuda_copy(struct accel_stream *s, struct accel_at to, struct accel_at from, size_t size,
	      struct err *err)
{
	int r = check_range(from.region, from.offset, size, err);

	if (r == 0)
		r = check_range(to.region, to.offset, size, err);
	if (r == 0)
		r = cuda_stream_enter(s, 1, err);
	if (r < 0)
		return r;
	return cuda_check(s->cuda, s->device,
			  s->cuda->libs.driver.copy_async(cuda_address(to.region, to.offset),
							  cuda_address(from.region, from.offset),
							  size, s->handle),
			  "cannot copy", err);
}

static int make_stage(struct cuda *c, unsigned device, struct err *err)
{
	struct cuda_stage *stage = &c->devices[device].stage;
	int r = cuda_enter(c, device, err);

	if (r < 0 || stage->pinned)
		return r;
	r = cuda_stream_new(&c->accel, device, &stage->stream, err);
	if (r == 0)
		r = cuda_event_new(&c->accel, device, &stage->event, err);
	if (r == 0)
		r = cuda_check(c, device,
			       c->libs.driver.host_alloc(&stage->pinned, CUDA_STAGE_BYTES,
							 CUDA_HOST_PORTABLE),
			       "cannot allocate pinned memory", err);
	if (r < 0)
		cuda_stage_release(c, device);
	return r;
}

void cuda_stage_release(struct cuda *c, unsigned device)
{
	struct cuda_stage *stage = &c->devices[device].stage;

	cuda_stream_free(stage->stream);
	cuda_event_free(stage->event);
	if (stage->pinned && !c->stuck)
		(void)c->libs.driver.host_free(stage->pinned);
	*stage = (struct cuda_stage){ 0 };
}

struct piece {
	cuda_ptr to, from;
	size_t size;
};

/* Copy synchronously between the pinned memory and the GPU. */
static int move_piece(struct cuda *c, unsigned device, const struct piece *p, struct err *err)
{
	struct cuda_stage *stage = &c->devices[device].stage;
	int r = cuda_check(c, device,
			   c->libs.driver.copy_async(p->to, p->from, p->size, stage->stream->handle),
			   "cannot copy", err);

	if (r == 0)
		r = cuda_event_record(stage->event, stage->stream, err);
	if (r == 0)
		r = cuda_event_wait(stage->event, clock_mono_us() + CUDA_STAGE_US, err);
	return r;
}

int cuda_upload(struct accel_region *to, size_t offset, const void *from, size_t size,
		struct err *err)
{
	struct cuda *c = cuda_of(to->accel);
	const struct cuda_stage *stage = &c->devices[to->device].stage;
	int r = check_range(to, offset, size, err);
	struct piece p;
	size_t done;

	if (r == 0)
		r = make_stage(c, to->device, err);
	for (done = 0; r == 0 && done < size; done += p.size) {
		p.size = MIN(size - done, (size_t)CUDA_STAGE_BYTES);
		p.to = cuda_address(to, offset + done);
		p.from = (cuda_ptr)(uintptr_t)stage->pinned;
		memcpy(stage->pinned, (const unsigned char *)from + done, p.size);
		r = move_piece(c, to->device, &p, err);
	}
	return r;
}

int cuda_download(void *to, const struct accel_region *from, size_t offset, size_t size,
		  struct err *err)
{
	struct cuda *c = cuda_of(from->accel);
	const struct cuda_stage *stage = &c->devices[from->device].stage;
	int r = check_range(from, offset, size, err);
	struct piece p;
	size_t done;

	if (r == 0)
		r = make_stage(c, from->device, err);
	for (done = 0; r == 0 && done < size; done += p.size) {
		p.size = MIN(size - done, (size_t)CUDA_STAGE_BYTES);
		p.to = (cuda_ptr)(uintptr_t)stage->pinned;
		p.from = cuda_address(from, offset + done);
		r = move_piece(c, from->device, &p, err);
		if (r == 0)
			memcpy((unsigned char *)to + done, stage->pinned, p.size);
	}
	return r;
}
