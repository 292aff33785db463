/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/cuda_host.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/membind.h"
#include "lib/sys/sysfs.h"
#include "probes/accel/cuda_context.h"
#include "probes/accel/cuda_nvml.h"

#define HUGE_BYTES ((size_t)2 << 20)

/*
 * Does the kernel give huge pages on request (Documentation/admin-guide/mm/transhuge.rst)? It may
 * have none left. Behind a translating IOMMU, copies from memory in small pieces are slower.
 */
static bool gives_huge_pages(size_t size)
{
	CLEANUP(freep) char *mode = sys_line("/sys/kernel/mm/transparent_hugepage/enabled");

	return size >= HUGE_BYTES && mode && !strstr(mode, "[never]");
}

/* Map memory aligned to a huge page. On failure returns MAP_FAILED with errno set. */
static void *map_aligned(size_t size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), kept = (size + page - 1) / page * page;
	char *at = mmap(NULL, kept + HUGE_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	if (at == MAP_FAILED)
		return at;
	before = -(uintptr_t)at & (HUGE_BYTES - 1);
	if (before > 0)
		(void)munmap(at, before);
	(void)munmap(at + before + kept, HUGE_BYTES - before);
	(void)madvise(at + before, kept, MADV_HUGEPAGE);
	return at + before;
}

static int map_on_node(struct cuda *c, unsigned device, const struct accel_memory *memory,
		       void **ret, struct err *err)
{
	const char *subject = c->devices[device].info.subject;
	void *at = map_aligned(memory->size);
	int r;

	if (at == MAP_FAILED)
		return err_errno(err, errno, "%s: cannot map %zu MiB of host memory", subject,
				 memory->size >> 20);
	r = membind(at, memory->size, (unsigned)memory->numa);
	if (r < 0)
		r = err_errno(err, -r, "%s: memory of numa:%d cannot be bound", subject,
			      memory->numa);
	if (r == 0)
		r = cuda_check(c, device,
			       c->libs.driver.host_register(at, memory->size, CUDA_HOST_PORTABLE),
			       "cannot pin host memory", err);
	if (r < 0)
		(void)munmap(at, memory->size);
	else
		*ret = at;
	return r;
}

int cuda_host_new(struct cuda *c, unsigned device, const struct accel_memory *memory,
		  struct accel_region *ret, struct err *err)
{
	/* Under confidential computing, memory cannot be registered: use the driver's own. */
	const bool on_node = memory->numa >= 0 && !cuda_nvml_facts(c->nvml, device).cc;
	void *at = NULL;
	int r;

	if (on_node)
		r = map_on_node(c, device, memory, &at, err);
	else
		r = cuda_check(c, device,
			       c->libs.driver.host_alloc(&at, memory->size, CUDA_HOST_PORTABLE),
			       "cannot allocate pinned memory", err);
	if (r < 0)
		return r;
	ret->ptr = at;
	/* Behind a translating IOMMU, the driver's memory is faster: a few large pieces. */
	ret->pages = !on_node			      ? "driver"
		     : gives_huge_pages(memory->size) ? "registered-2M"
						      : "registered";
	ret->backend = on_node ? at : NULL;
	return 0;
}

void cuda_host_free(struct cuda *c, struct accel_region *r)
{
	if (!r->backend) {
		(void)c->libs.driver.host_free(r->ptr);
		return;
	}
	/* If it is still pinned, it must stay mapped. */
	if (c->libs.driver.host_unregister(r->ptr) == CUDA_OK)
		(void)munmap(r->ptr, r->size);
}
