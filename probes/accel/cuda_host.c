/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/cuda_host.h"

#include <errno.h>
#include <sys/mman.h>

#include "lib/base/err.h"
#include "lib/sys/membind.h"
#include "probes/accel/cuda_context.h"
#include "probes/accel/cuda_nvml.h"

static int map_on_node(struct cuda *c, unsigned device, const struct accel_memory *memory,
		       void **ret, struct err *err)
{
	const char *subject = c->devices[device].info.subject;
	void *at = mmap(NULL, memory->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
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
	ret->pages = on_node ? "registered" : "driver";
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
