/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/region_accel.h"

#include <errno.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/sys/file.h"
#include "probes/accel/accel.h"

static int add_dmabuf(const struct rdma_ops *ops, struct rdma_device *d,
		      const struct accel_region *memory, const struct accel_export *export,
		      struct rdma_region *ret, struct err *err)
{
	const struct rdma_dmabuf dmabuf = {
		.fd = export->dmabuf_fd,
		.offset = export->offset,
		.bytes = memory->size,
		.at = memory->ptr,
	};

	if (export->dmabuf_fd < 0)
		return err_set(err, EOPNOTSUPP, "it has no dmabuf (%s)", export->why);
	if (!ops->region_add_dmabuf)
		return err_set(err, EOPNOTSUPP, "this engine does not support dmabuf");
	return ops->region_add_dmabuf(d, &dmabuf, ret, err);
}

int region_add_accel(const struct rdma_ops *ops, struct rdma_device *d, struct accel_region *memory,
		     struct rdma_region *ret, struct region_way *ret_way, struct err *err)
{
	struct accel_export export = { .dmabuf_fd = -1 };
	struct err first = ERR_INIT, second = ERR_INIT;
	bool exported;
	int r = memory->accel->ops->region_export(memory, &export, err);

	if (r < 0)
		return r;
	exported = export.dmabuf_fd >= 0;
	r = add_dmabuf(ops, d, memory, &export, ret, &first);
	if (export.dmabuf_fd >= 0)
		(void)close(export.dmabuf_fd);
	if (r == 0) {
		*ret_way = (struct region_way){ "dmabuf", "first choice" };
		return 0;
	}
	if (export.peer_direct)
		r = ops->region_add(d, memory->ptr, memory->size, ret, &second);
	else
		r = err_set(&second, EOPNOTSUPP, "nvidia-peermem is not loaded");
	if (r == 0) {
		*ret_way = (struct region_way){ "peermem",
						exported ? "the RNIC does not support dmabuf"
							 : "the driver does not export dmabufs" };
		return 0;
	}
	return err_set(err, EOPNOTSUPP,
		       "the GPU's memory cannot be reached: by dmabuf: %.100s; by address: "
		       "%.100s",
		       first.msg, second.msg);
}
