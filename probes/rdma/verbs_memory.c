/* SPDX-License-Identifier: Apache-2.0 */
/* The engine over libibverbs: memory that a device may read and write. */
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

#include "lib/base/err.h"
#include "probes/rdma/verbs.h"

enum { LIMIT_SIZE = 32, KIB = 1024 };

/* What the other side and we may do with it. Relaxed ordering is granted where there is any. */
static const int access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_READ | IBV_ACCESS_RELAXED_ORDERING;

static void locked_limit(char ret[static LIMIT_SIZE])
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		(void)snprintf(ret, LIMIT_SIZE, "unlimited");
	else
		(void)snprintf(ret, LIMIT_SIZE, "%llu KiB",
			       (unsigned long long)limit.rlim_cur / KIB);
}

int verbs_error(struct err *err, int code, const struct rdma_device *d, const char *what)
{
	char limit[LIMIT_SIZE];

	code = code ? code : EIO;
	if (code != ENOMEM)
		return err_errno(err, code, "%s: %s", d->name, what);
	locked_limit(limit);
	return err_set(err, ENOMEM,
		       "%s: %s: no memory: raise the limit on locked memory (ulimit -l, now %s)",
		       d->name, what, limit);
}

static void keep(struct ibv_mr *mr, void *at, uint64_t bytes, struct rdma_region *ret)
{
	*ret = (struct rdma_region){
		.handle = mr, .at = at, .bytes = bytes, .lkey = mr->lkey, .rkey = mr->rkey
	};
}

int verbs_region_add(struct rdma_device *d, void *at, uint64_t bytes, struct rdma_region *ret,
		     struct err *err)
{
	struct ibv_mr *mr = ibv_reg_mr(d->pd, at, bytes, access_flags);
	char what[64];

	if (!mr) {
		(void)snprintf(what, sizeof(what), "cannot register %llu bytes",
			       (unsigned long long)bytes);
		return verbs_error(err, errno, d, what);
	}
	keep(mr, at, bytes, ret);
	return 0;
}

int verbs_region_add_dmabuf(struct rdma_device *d, const struct rdma_dmabuf *memory,
			    struct rdma_region *ret, struct err *err)
{
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(d->pd, memory->offset, memory->bytes,
					      (uintptr_t)memory->at, memory->fd, access_flags);

	if (!mr && errno == EOPNOTSUPP)
		return err_set(err, EOPNOTSUPP,
			       "%s cannot access the memory of other devices "
			       "(no dmabuf)",
			       d->name);
	if (!mr)
		return verbs_error(err, errno, d, "cannot register a dmabuf");
	keep(mr, memory->at, memory->bytes, ret);
	return 0;
}

void verbs_region_remove(struct rdma_region *r)
{
	if (r->handle)
		(void)ibv_dereg_mr(r->handle);
	*r = (struct rdma_region){ .handle = NULL };
}
