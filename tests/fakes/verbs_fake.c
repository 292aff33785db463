/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replacement for libibverbs.so.1. Its devices can be listed, opened and queried, but their queue
 * pairs cannot be connected. ASSAY_FAKE_VERBS lists the devices as words NAME=KIND:
 *
 *	efa      unspecified transport, like Amazon's EFA
 *	mana     InfiniBand transport, but refuses reliable connections (EINVAL)
 *	iwarp    iWARP transport
 *	roce     accepts a reliable connection
 *	sick     fails to create one (EIO)
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef ibv_query_port
#undef ibv_reg_mr

enum { DEVICES_MAX = 8, KIND_SIZE = 16, WORDS_MAX = 512, PKEYS = 1 };

struct fake {
	struct ibv_device device;
	struct ibv_context context;
	char kind[KIND_SIZE];
};

static struct fake fakes[DEVICES_MAX];
static struct ibv_device *list[DEVICES_MAX + 1];
static struct ibv_pd pd;
static struct ibv_cq cq;
static struct ibv_qp qp;
static struct ibv_mr mr;
static struct ibv_comp_channel channel;

static bool is(const struct ibv_context *context, const char *kind)
{
	const struct fake *f = (const struct fake *)(const void *)context->device;

	return strcmp(f->kind, kind) == 0;
}

static enum ibv_transport_type transport_of(const char *kind)
{
	if (strcmp(kind, "efa") == 0)
		return IBV_TRANSPORT_UNSPECIFIED;
	return strcmp(kind, "iwarp") == 0 ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
}

struct ibv_device **ibv_get_device_list(int *n)
{
	const char *said = getenv("ASSAY_FAKE_VERBS");
	char words[WORDS_MAX], *word, *place = NULL;
	int count = 0;

	(void)snprintf(words, sizeof(words), "%s", said ? said : "");
	for (word = strtok_r(words, " ", &place); word && count < DEVICES_MAX;
	     word = strtok_r(NULL, " ", &place)) {
		struct fake *f = &fakes[count];
		char *kind = strchr(word, '=');

		if (!kind)
			continue;
		*kind = '\0';
		(void)snprintf(f->kind, sizeof(f->kind), "%s", kind + 1);
		(void)snprintf(f->device.name, sizeof(f->device.name), "%.60s", word);
		(void)snprintf(f->device.dev_name, sizeof(f->device.dev_name), "uverbs%d", count);
		f->device.transport_type = transport_of(f->kind);
		f->context.device = &f->device;
		list[count++] = &f->device;
	}
	list[count] = NULL;
	*n = count;
	return list;
}

void ibv_free_device_list(struct ibv_device **devices)
{
	(void)devices;
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	return &((struct fake *)(void *)device)->context;
}

int ibv_close_device(struct ibv_context *context)
{
	(void)context;
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *ret)
{
	(void)context;
	memset(ret, 0, sizeof(*ret));
	ret->phys_port_cnt = 1;
	return 0;
}

int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *compat)
{
	struct ibv_port_attr *ret = (struct ibv_port_attr *)(void *)compat;

	(void)port;
	ret->state = IBV_PORT_ACTIVE;
	ret->max_mtu = ret->active_mtu = IBV_MTU_4096;
	ret->active_width = 2;	/* 4X */
	ret->active_speed = 32; /* 25 Gb/s each */
	ret->pkey_tbl_len = PKEYS;
	ret->link_layer = is(context, "efa") ? IBV_LINK_LAYER_UNSPECIFIED : IBV_LINK_LAYER_ETHERNET;
	return 0;
}

const char *ibv_port_state_str(enum ibv_port_state state)
{
	return state == IBV_PORT_ACTIVE ? "PORT_ACTIVE" : "PORT_DOWN";
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *ret)
{
	(void)context;
	(void)port;
	(void)index;
	memset(ret, 0, sizeof(*ret));
	return 0;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *ret)
{
	(void)context;
	(void)port;
	*ret = (__be16)0xffff;
	return index < PKEYS ? 0 : -1;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *ret, size_t max,
			     uint32_t flags, size_t size)
{
	(void)context;
	(void)ret;
	(void)max;
	(void)flags;
	(void)size;
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	pd.context = context;
	return &pd;
}

int ibv_dealloc_pd(struct ibv_pd *of)
{
	(void)of;
	return 0;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *of, void *at, size_t length, int access)
{
	(void)of;
	(void)access;
	mr.addr = at;
	mr.length = length;
	return &mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *of, void *at, size_t length, uint64_t iova,
				unsigned access)
{
	(void)iova;
	return ibv_reg_mr(of, at, length, (int)access);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *of, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	(void)of;
	(void)offset;
	(void)length;
	(void)iova;
	(void)fd;
	(void)access;
	errno = EOPNOTSUPP;
	return NULL;
}

int ibv_dereg_mr(struct ibv_mr *of)
{
	(void)of;
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	channel.context = context;
	channel.fd = -1;
	return &channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *of)
{
	(void)of;
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int n, void *of_caller,
			     struct ibv_comp_channel *of, int vector)
{
	(void)n;
	(void)of_caller;
	(void)vector;
	cq.context = context;
	cq.channel = of;
	return &cq;
}

int ibv_destroy_cq(struct ibv_cq *of)
{
	(void)of;
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *of, struct ibv_cq **ret, void **ret_of_caller)
{
	(void)of;
	(void)ret;
	(void)ret_of_caller;
	errno = EAGAIN;
	return -1;
}

void ibv_ack_cq_events(struct ibv_cq *of, unsigned n)
{
	(void)of;
	(void)n;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *of, struct ibv_qp_init_attr *attr)
{
	const bool refuses = is(of->context, "mana") || is(of->context, "efa");

	if (attr->qp_type == IBV_QPT_RC && refuses) {
		errno = is(of->context, "efa") ? EOPNOTSUPP : EINVAL;
		return NULL;
	}
	if (is(of->context, "sick")) {
		errno = EIO;
		return NULL;
	}
	qp.context = of->context;
	return &qp;
}

int ibv_modify_qp(struct ibv_qp *of, struct ibv_qp_attr *attr, int mask)
{
	(void)of;
	(void)attr;
	(void)mask;
	return EIO;
}

int ibv_destroy_qp(struct ibv_qp *of)
{
	(void)of;
	return 0;
}
