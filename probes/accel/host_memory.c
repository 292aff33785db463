/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/host_memory.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "probes/accel/host.h"

enum { NUMA_NODES_MAX = 1024, BITS_OF_LONG = 8 * (int)sizeof(long) };

static size_t mapped_size(size_t size)
{
	size_t unit = size >= HOST_HUGE_PAGE ? HOST_HUGE_PAGE : 4096;

	return (size + unit - 1) / unit * unit;
}

/*
 * Prefer the node but do not insist: with a strict policy, a node without free huge pages would
 * mean SIGBUS. If refused (a container without CAP_SYS_NICE), only locality is lost.
 */
static void prefer_node(void *ptr, size_t size, int numa)
{
	unsigned long mask[NUMA_NODES_MAX / BITS_OF_LONG] = { 0 };

	if (numa < 0 || numa >= NUMA_NODES_MAX)
		return;
	mask[numa / BITS_OF_LONG] = 1UL << (numa % BITS_OF_LONG);
	(void)syscall(SYS_mbind, ptr, size, MPOL_PREFERRED, mask, NUMA_NODES_MAX + 1UL, 0);
}

/* Reserved huge pages if any are free, otherwise transparent ones if possible. */
static void *map(size_t size)
{
	const int protection = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	void *ptr = MAP_FAILED;

	if (size >= HOST_HUGE_PAGE)
		ptr = mmap(NULL, size, protection, flags | MAP_HUGETLB, -1, 0);
	if (ptr != MAP_FAILED)
		return ptr;
	ptr = mmap(NULL, size, protection, flags, -1, 0);
	if (ptr != MAP_FAILED && size >= HOST_HUGE_PAGE)
		(void)madvise(ptr, size, MADV_HUGEPAGE);
	return ptr;
}

int host_region_new(struct accel *a, unsigned device, const struct accel_memory *memory,
		    struct accel_region *ret, struct err *err)
{
	const struct host *h = host_of(a);
	size_t size = memory->size;
	int numa = memory->numa;
	void *ptr;

	if (device >= h->n_cores)
		return err_set(err, ENODEV, "no core %u: this host has %u", device, h->n_cores);
	if (size == 0 || size > SIZE_MAX / 2)
		return err_set(err, EINVAL, "a region of %zu bytes", size);
	ptr = map(mapped_size(size));
	if (ptr == MAP_FAILED)
		return err_errno(err, errno, "cannot map %zu bytes", size);
	if (memory->place == ACCEL_DEVICE || numa < 0)
		numa = h->cores[device].numa;
	prefer_node(ptr, mapped_size(size), numa);
	memset(ptr, 0, size);
	*ret = (struct accel_region){
		.accel = a,
		.device = device,
		.place = memory->place,
		.ptr = ptr,
		.size = size,
		.host_visible = true,
	};
	return 0;
}

void host_region_free(struct accel_region *r)
{
	if (!r->ptr || host_of(r->accel)->stuck)
		return; /* a hung thread may still write there */
	(void)munmap(r->ptr, mapped_size(r->size));
	*r = (struct accel_region){ 0 };
}

int host_region_export(struct accel_region *r UNUSED, struct accel_export *ret,
		       struct err *err UNUSED)
{
	struct accel_export export = { .dmabuf_fd = -1, .peer_direct = true };

	(void)snprintf(export.why, sizeof(export.why),
		       "host memory is registered by its address; no dmabuf is needed");
	*ret = export;
	return 0;
}

int host_check_range(const struct accel_region *r, size_t offset, size_t size, struct err *err)
{
	if (offset <= r->size && size <= r->size - offset)
		return 0;
	return err_set(err, ERANGE, "offset %zu and %zu bytes are outside a region of %zu", offset,
		       size, r->size);
}

int host_upload(struct accel_region *to, size_t offset, const void *from, size_t size,
		struct err *err)
{
	int r = host_check_range(to, offset, size, err);

	if (r == 0)
		memcpy((unsigned char *)to->ptr + offset, from, size);
	return r;
}

int host_download(void *to, const struct accel_region *from, size_t offset, size_t size,
		  struct err *err)
{
	int r = host_check_range(from, offset, size, err);

	if (r == 0)
		memcpy(to, (const unsigned char *)from->ptr + offset, size);
	return r;
}
