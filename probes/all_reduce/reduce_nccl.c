/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/all_reduce/reduce_nccl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/base64.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "probes/all_reduce/reduce.h"
#include "probes/loopback/loopback.h"
#include "probes/loopback/loopback_gpu.h"

enum {
	PORTS_TEXT_MAX = PAIR_PORTS_MAX * (RDMA_NAME_SIZE + 8),
	NUMBER_SIZE = 16,
	STEP_BYTES = 512 << 10, /* per request: an eighth of NCCL_BUFFSIZE (4 MiB) */
};

/* A number given by the site; if negative, NCCL's default stays. */
static void set_number(const char *name, int value)
{
	char text[NUMBER_SIZE];

	if (value < 0)
		return;
	(void)snprintf(text, sizeof(text), "%d", value);
	(void)setenv(name, text, 1);
}

/* "=mlx5_0:1,mlx5_1:1": exactly these. */
static void set_ports(const struct pair_side *sides, size_t n)
{
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT(PORTS_TEXT_MAX);
	size_t i;

	for (i = 0; i < n; i++)
		(void)strbuf_printf(&names, "%s%s:%u", i ? "," : "=", sides[i].port->device,
				    sides[i].port->number);
	(void)setenv("NCCL_IB_HCA", strbuf_text(&names), 1);
}

int reduce_nccl_start(const struct pair_side *sides, size_t n, struct nccl_library *ret,
		      struct err *err)
{
	const struct pair_options *o = sides[0].options;

	set_ports(sides, n);
	set_number("NCCL_IB_GID_INDEX", o->gid_index);
	set_number("NCCL_IB_PKEY", o->service.pkey_index);
	set_number("NCCL_IB_SL", o->service.sl);
	set_number("NCCL_IB_TC", o->service.tclass);
	/* No fallback to TCP if it finds no RDMA; a site's plug-in may have its own name here. */
	(void)setenv("NCCL_NET", "IB", 0);
	/* Nor NVLink, which connects the hosts of a GB200 rack. */
	(void)setenv("NCCL_MNNVL_ENABLE", "0", 1);
	(void)setenv("NCCL_ALGO", "Ring", 1);
	(void)setenv("NCCL_PROTO", "Simple", 1);
	return nccl_load(ret, err);
}

int reduce_nccl_id(const struct nccl_library *library, char **ret, struct err *err)
{
	nccl_id id;
	int r = nccl_id_new(library, &id, err);

	if (r == 0)
		*ret = base64_encode(&id, sizeof(id));
	return r;
}

int reduce_nccl_unite(struct reduce_session *s, const char *id, const struct coll_watch *watch,
		      struct err *err)
{
	const struct accel_region *memory = s->sides[s->rail].gpu->gpu;
	const uint64_t now_us = clock_mono_us();
	CLEANUP(freep) char *bytes = NULL;
	nccl_id raw;
	size_t size;
	struct nccl_host host = {
		.library = &s->nccl,
		.out = &memory[GPU_SOURCE],
		.in = &memory[GPU_TARGET],
		.n = s->n,
		.rank = s->rank,
		.bytes = s->bytes,
		.id = &raw,
		.deadline_us = MIN(now_us + NCCL_READY_US, s->deadline_us),
		.watch = watch,
	};

	if (base64_decode(id, &bytes, &size) < 0 || size != sizeof(raw))
		return err_set(err, EINVAL, "rank 0 sent no id of a group of NCCL");
	memcpy(&raw, bytes, sizeof(raw));
	return nccl_host_new(&host, &s->ring, err);
}

struct rdma_posted reduce_nccl_moves(uint64_t bytes, unsigned n)
{
	const uint64_t moved = 2 * (bytes / n) * (n - 1);

	return (struct rdma_posted){ .requests = (moved + STEP_BYTES - 1) / STEP_BYTES,
				     .bytes = moved };
}
