/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the jobs of a site use its RDMA fabric, which cannot be read from the ports: $CONF/rdma.yaml.
 * Read by every probe that opens queue pairs, whoever starts it. Command line options take
 * precedence.
 *
 *	v: 1
 *	devices: "=mlx5_0,mlx5_1"    as NCCL_IB_HCA: ports_listed()
 *	gid_index: 3                 as NCCL_IB_GID_INDEX
 *	pkey_index: 1                as NCCL_IB_PKEY
 *	sl: 3                        as NCCL_IB_SL
 *	tclass: 106                  as NCCL_IB_TC
 *
 * All keys but v are optional.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "probes/rdma/ports.h"

struct err;

enum { RDMA_PKEY_INDEX_MAX = 1023, RDMA_SL_MAX = 15, RDMA_TCLASS_MAX = 255 };

/* Settings for opening queue pairs. */
struct rdma_service {
	char devices[PORTS_LIST_MAX + 1]; /* device list; "": none given */
	int pkey_index;			  /* -1: the first P_Key with full membership */
	int sl, tclass;			  /* -1: not given, meaning 0 */
};

/* Nothing set. */
#define RDMA_SERVICE_INIT ((struct rdma_service){ .pkey_index = -1, .sl = -1, .tclass = -1 })

/* The list of devices, or NULL if none is given. Borrowed. */
const char *rdma_service_devices(const struct rdma_service *s);

/* Add the settings that differ from the defaults to the params of a sample. */
void rdma_service_params(const struct rdma_service *s, uint16_t pkey, json_t *params);

/*
 * Fill the members of `s`, and `gid_index`, that are not set yet from the site's file. A missing
 * file is not an error. -EINVAL "FILE: place: what to do" for an invalid one.
 */
int rdma_site_fill(struct rdma_service *s, int *gid_index, struct err *err);
