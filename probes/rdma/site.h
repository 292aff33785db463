/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the RDMA fabric of a site is used by its jobs, which no port tells: $CONF/rdma.yaml, read by
 * every probe that opens queue pairs, whoever starts it. What an option says counts before it.
 *
 *	v: 1
 *	devices: "=mlx5_0,mlx5_1"    as NCCL_IB_HCA: ports_listed()
 *	gid_index: 3                 as NCCL_IB_GID_INDEX
 *	pkey_index: 1                as NCCL_IB_PKEY
 *	sl: 3                        as NCCL_IB_SL
 *	tclass: 106                  as NCCL_IB_TC
 *
 * All are optional.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "probes/rdma/ports.h"

struct err;

enum { RDMA_PKEY_INDEX_MAX = 1023, RDMA_SL_MAX = 15, RDMA_TCLASS_MAX = 255 };

/* What queue pairs are opened with. */
struct rdma_service {
	char devices[PORTS_LIST_MAX + 1]; /* list; "": none is given */
	int pkey_index;			  /* -1: of the first P_Key with full membership */
	int sl, tclass;			  /* -1: 0 */
};

/* Nothing said. */
#define RDMA_SERVICE_INIT ((struct rdma_service){ .pkey_index = -1, .sl = -1, .tclass = -1 })

/* The list of devices, or NULL when none is given. Borrowed. */
const char *rdma_service_devices(const struct rdma_service *s);

/* Say it in the params of a sample, where it is not as it is without being said. */
void rdma_service_params(const struct rdma_service *s, uint16_t pkey, json_t *params);

/*
 * Read what the site says into all of `s`, and into `gid_index`, that is not said yet. No file is
 * no error; -EINVAL "FILE: place: what to do" for a bad one.
 */
int rdma_site_fill(struct rdma_service *s, int *gid_index, struct err *err);
