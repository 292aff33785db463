/* SPDX-License-Identifier: Apache-2.0 */
/* The libibverbs engine: devices, ports, addresses. */
#include "probes/rdma/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"
#include "lib/sys/rnic_ports.h"
#include "probes/rdma/bond.h"
#include "probes/rdma/ticks.h"
#include "probes/rdma/verbs_calls.h"
#include "probes/rdma/verbs_kind.h"
#include "probes/rdma/verbs_post.h"
#include "probes/rdma/verbs_queue.h"

enum { READS_AT_ONCE = 16 }; /* outstanding reads per queue, fewer if the device supports fewer */

#define BITS_PER_BYTE 8
#define GIGA 1e9

unsigned verbs_mtu_bytes(enum ibv_mtu mtu)
{
	return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128u << mtu : 0;
}

enum ibv_mtu verbs_mtu_of(unsigned bytes)
{
	enum ibv_mtu mtu = IBV_MTU_4096;

	while (mtu > IBV_MTU_256 && verbs_mtu_bytes(mtu) > bytes)
		mtu--;
	return mtu;
}

/* Data rate in Gb/s of one lane, by active_speed (PortInfo.LinkSpeedActive). */
static double lane_rate(unsigned speed)
{
	static const struct {
		unsigned code;
		double gbit;
	} rows[] = {
		{ 1, 2 },   { 2, 4 },	{ 4, 8 },   { 8, 10 },
		{ 16, 14 }, { 32, 25 }, { 64, 50 }, { 128, 100 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].code == speed)
			return rows[i].gbit;
	}
	return 0;
}

/* PortInfo.LinkWidthActive: 1 1x, 2 4x, 4 8x, 8 12x, 16 2x. */
static unsigned lanes(unsigned width)
{
	static const unsigned table[] = { [1] = 1, [2] = 4, [4] = 8, [8] = 12, [16] = 2 };

	return width < ARRAY_SIZE(table) ? table[width] : 0;
}

/* "400 Gb/sec (4X NDR)": the kernel knows speeds that do not fit the 8 bits of verbs. */
static double sysfs_rate(const char *device, unsigned port)
{
	CLEANUP(freep)
	char *path = xasprintf("%s/sys/class/infiniband/%s/ports/%u/rate", paths_sysroot(), device,
			       port);
	CLEANUP(freep) char *text = NULL;

	if (file_read_line(AT_FDCWD, path, &text) < 0)
		return 0;
	return strtod(text, NULL) * GIGA / BITS_PER_BYTE;
}

static void find_model(struct rdma_port *p, const char *link)
{
	CLEANUP(freep) char *vendor_path = xasprintf("%s/vendor", link);
	CLEANUP(freep) char *device_path = xasprintf("%s/device", link);
	long long vendor, device;

	if (file_read_i64(AT_FDCWD, vendor_path, &vendor) == 0 &&
	    file_read_i64(AT_FDCWD, device_path, &device) == 0)
		(void)snprintf(p->model, sizeof(p->model), "%04x:%04x", (unsigned)vendor & 0xffff,
			       (unsigned)device & 0xffff);
}

/* Find the PCI device behind an RDMA device, and its NUMA node; "" and -1 for a software device. */
static void find_parent(struct rdma_port *p)
{
	CLEANUP(freep)
	char *link = xasprintf("%s/sys/class/infiniband/%s/device", paths_sysroot(), p->device);
	CLEANUP(freep) char *node = xasprintf("%s/numa_node", link);
	char target[PATH_MAX];
	ssize_t n = readlink(link, target, sizeof(target) - 1);
	long long number = -1;
	const char *name;

	p->numa_node = -1;
	if (n <= 0)
		return;
	target[n] = '\0';
	name = strrchr(target, '/');
	(void)snprintf(p->pci, sizeof(p->pci), "%.60s", name ? name + 1 : target);
	find_model(p, link);
	if (file_read_i64(AT_FDCWD, node, &number) == 0)
		p->numa_node = (int)number;
}

static void fill_port(struct rdma_port *p, const struct ibv_port_attr *a)
{
	const char *state = ibv_port_state_str(a->state);

	(void)snprintf(p->state, sizeof(p->state), "the port is %s",
		       starts_with(state, "PORT_") ? state + 5 : state);
	p->active = a->state == IBV_PORT_ACTIVE;
	p->layer = a->link_layer == IBV_LINK_LAYER_ETHERNET ? RDMA_ETHERNET : RDMA_INFINIBAND;
	p->wants_grh = p->layer == RDMA_INFINIBAND && (a->flags & IBV_QPF_GRH_REQUIRED);
	p->mtu = verbs_mtu_bytes(a->active_mtu);
	p->mtu_max = verbs_mtu_bytes(a->max_mtu);
	p->bytes_per_s = sysfs_rate(p->device, p->number);
	if (p->bytes_per_s <= 0)
		p->bytes_per_s =
			lane_rate(a->active_speed) * lanes(a->active_width) * GIGA / BITS_PER_BYTE;
	find_parent(p);
	if (p->layer == RDMA_ETHERNET)
		bond_find(p);
}

/* libibverbs hides the reason: it then tries an older device node, which does not exist. */
static void say_unopened(struct ibv_device *device, int code, struct rdma_port *ret)
{
	char path[sizeof("/dev/infiniband/") + IBV_SYSFS_NAME_MAX];

	(void)snprintf(path, sizeof(path), "/dev/infiniband/%s", device->dev_name);
	if (access(path, R_OK | W_OK) < 0)
		code = errno;
	*ret = (struct rdma_port){ .number = 1, .numa_node = -1, .unknown = true };
	(void)snprintf(ret->device, sizeof(ret->device), "%s", ibv_get_device_name(device));
	(void)snprintf(ret->state, sizeof(ret->state), "cannot open %s: %s", path, strerror(code));
}

/* List the ports of one device. If it cannot be opened, list one inactive port that says why. */
static size_t list_device(struct ibv_device *device, struct rdma_port *ret, size_t max)
{
	struct ibv_context *context = ibv_open_device(device);
	const bool unconnected = context && !verbs_kind_connects(context);
	struct ibv_device_attr attr;
	size_t n = 0;
	unsigned i;

	if (!context || ibv_query_device(context, &attr) != 0) {
		say_unopened(device, errno, &ret[0]);
		n = 1;
	}
	for (i = 1; n == 0 && context && i <= attr.phys_port_cnt && i <= max; i++) {
		struct rdma_port *p = &ret[i - 1];
		struct ibv_port_attr port;

		*p = (struct rdma_port){ .number = i, .unconnected = unconnected };
		(void)snprintf(p->device, RDMA_NAME_SIZE, "%s", ibv_get_device_name(device));
		if (ibv_query_port(context, (uint8_t)i, &port) == 0) {
			fill_port(p, &port);
			continue;
		}
		p->unknown = true;
		(void)snprintf(p->state, sizeof(p->state), "cannot read the state of the port");
	}
	n = n ? n : i - 1;
	if (context)
		(void)ibv_close_device(context);
	return n;
}

static int compare_ports(const void *a, const void *b)
{
	const struct rdma_port *x = a, *y = b;
	int by_name = strverscmp(x->device, y->device);

	return by_name ? by_name : (x->number > y->number) - (x->number < y->number);
}

static int verbs_list(struct rdma_engine *e, struct rdma_port *ret_ports, size_t max,
		      struct err *err)
{
	struct ibv_device **devices;
	int n_devices = 0, i, r = verbs_calls_load(err);
	size_t n = 0;

	(void)e;
	if (r < 0)
		return r;
	devices = ibv_get_device_list(&n_devices);
	if (!devices)
		return err_errno(err, errno == ENOSYS ? ENOSYS : errno, "list RDMA devices");
	for (i = 0; i < n_devices && n < max; i++) {
		if (!rnic_is_virtual(ibv_get_device_name(devices[i])))
			n += list_device(devices[i], ret_ports + n, max - n);
	}
	if (i < n_devices)
		log_warning("more than %zu RDMA ports: %s and later ones are left out", max,
			    ibv_get_device_name(devices[i]));
	ibv_free_device_list(devices);
	qsort(ret_ports, n, sizeof(*ret_ports), compare_ports);
	return (int)n;
}

static void verbs_close(struct rdma_device *d)
{
	if (!d)
		return;
	if (d->pd)
		(void)ibv_dealloc_pd(d->pd);
	if (d->context)
		(void)ibv_close_device(d->context);
	free(d);
}
DEFINE_CLEANUP(struct rdma_device *, verbs_close, verbs_closep);

/* A queue that asks for more outstanding reads than the device supports fails to come up. */
static void find_limits(struct rdma_device *d)
{
	struct ibv_device_attr attr = { .max_qp_rd_atom = 0 };

	if (ibv_query_device(d->context, &attr) != 0)
		attr.max_qp_rd_atom = attr.max_qp_init_rd_atom = READS_AT_ONCE;
	d->reads_in = (uint8_t)MAX(1, MIN(attr.max_qp_rd_atom, READS_AT_ONCE));
	/* The peer may be on the same device, so do not exceed what that accepts. */
	d->reads_out = (uint8_t)MAX(1, MIN(attr.max_qp_init_rd_atom, (int)d->reads_in));
}

static int verbs_open(struct rdma_engine *e, const char *name, struct rdma_device **ret,
		      struct err *err)
{
	CLEANUP(verbs_closep) struct rdma_device *d = xcalloc(1, sizeof(*d));
	struct ibv_device **devices;
	int n = 0, i, code = ENODEV, r = verbs_calls_load(err);

	(void)e;
	if (r < 0)
		return r;
	devices = ibv_get_device_list(&n);
	for (i = 0; devices && i < n && !d->context; i++) {
		if (!streq(ibv_get_device_name(devices[i]), name))
			continue;
		d->context = ibv_open_device(devices[i]);
		code = d->context ? 0 : errno ? errno : EIO;
	}
	if (devices)
		ibv_free_device_list(devices);
	if (!d->context)
		return err_errno(err, code, "open %s", name);
	(void)snprintf(d->name, sizeof(d->name), "%s", name);
	find_limits(d);
	d->pd = ibv_alloc_pd(d->context);
	if (!d->pd)
		return verbs_error(err, errno, d, "protection domain");
	*ret = TAKE(d);
	return 0;
}

static int verbs_gids(struct rdma_device *d, unsigned port, struct rdma_gid *ret_gids, size_t max,
		      struct err *err)
{
	CLEANUP(freep) struct ibv_gid_entry *entries = xcalloc(RDMA_GIDS_MAX, sizeof(*entries));
	ssize_t n = ibv_query_gid_table(d->context, entries, RDMA_GIDS_MAX, 0), i;
	size_t count = 0;

	if (n < 0)
		return err_errno(err, (int)-n, "%s: GID table", d->name);
	for (i = 0; i < n && count < max; i++) {
		struct rdma_gid *gid = &ret_gids[count];

		if (entries[i].port_num != port || entries[i].gid_index > RDMA_GID_INDEX_MAX)
			continue;
		memcpy(gid->raw, entries[i].gid.raw, sizeof(gid->raw));
		gid->index = entries[i].gid_index;
		gid->type = entries[i].gid_type == IBV_GID_TYPE_ROCE_V2	  ? RDMA_GID_ROCE_V2
			    : entries[i].gid_type == IBV_GID_TYPE_ROCE_V1 ? RDMA_GID_ROCE_V1
									  : RDMA_GID_IB;
		count++;
	}
	return (int)count;
}

/* A removed device loses its node first. The device may stay, and work, until we close it. */
static int verbs_port_now(struct rdma_device *d, unsigned port, struct rdma_port *ret,
			  struct err *err)
{
	CLEANUP(freep)
	char *path = xasprintf("%s/sys/class/infiniband_verbs/%s", paths_sysroot(),
			       d->context->device->dev_name);
	struct rdma_port p = { .number = port };
	struct ibv_port_attr attr;
	int r;

	(void)snprintf(p.device, sizeof(p.device), "%s", d->name);
	if (access(path, F_OK) < 0)
		return err_set(err, ENODEV, "%s was removed", d->name);
	r = ibv_query_port(d->context, (uint8_t)port, &attr);
	if (r)
		return err_errno(err, r == EIO ? ENODEV : r, "%s port %u", d->name, port);
	fill_port(&p, &attr);
	*ret = p;
	return 0;
}

static uint64_t verbs_now_ns(struct rdma_engine *e)
{
	struct timespec t;

	(void)e;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct rdma_engine *rdma_verbs(void)
{
	static struct rdma_ops ops = {
		.name = "verbs",
		.list = verbs_list,
		.open = verbs_open,
		.close = verbs_close,
		.gids = verbs_gids,
		.region_add = verbs_region_add,
		.region_add_dmabuf = verbs_region_add_dmabuf,
		.region_remove = verbs_region_remove,
		.queue_open = verbs_queue_open,
		.queue_close = verbs_queue_close,
		.queue_end = verbs_queue_end,
		.queue_connect = verbs_queue_connect,
		.post = verbs_post,
		.posted = verbs_posted,
		.receive = verbs_receive,
		.poll = verbs_poll,
		.wait = verbs_wait,
		.wait_any = verbs_wait_any,
		.now_ns = verbs_now_ns,
		.port_now = verbs_port_now,
	};
	static struct rdma_engine engine = { .ops = &ops };

	ops.ticks = ticks_read;
	return &engine;
}

/* --- memory registration --- */

enum { LIMIT_SIZE = 32, KIB = 1024 };

/* Access for both sides. Relaxed ordering is used where supported. */
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
