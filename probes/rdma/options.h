/* SPDX-License-Identifier: Apache-2.0 */
/* The command line options common to all RDMA probes, and the list syntax of --cells. */
#pragma once

#include <argp.h>

#include "lib/base/macro.h"
#include "probes/rdma/site.h"

enum {
	CELLS_TEXT_MAX = 8192,
	RDMA_SIZE_DEFAULT = 64 * 1024,
	RDMA_DEPTH_DEFAULT = 128,
	RDMA_SIZE_MAX = 1 << 20,
	RDMA_DEPTH_MAX = 1024,
};

/* Where a probe stores them. The child parser sets the defaults first. */
struct rdma_options {
	const char **cells; /* "A>B,..."; borrowed from argv; NULL: all */
	int *gid_index;	    /* -1: chosen automatically */
	unsigned *mtu;	    /* 0: the ports' */
	unsigned *size, *depth;
	unsigned *qps; /* 0: port_queues() */
	struct rdma_service *service;
};

/* For a struct with members of these names. */
#define RDMA_OPTIONS_OF(o)                                    \
	((struct rdma_options){ .cells = &(o)->cells,         \
				.gid_index = &(o)->gid_index, \
				.mtu = &(o)->mtu,             \
				.size = &(o)->size,           \
				.qps = &(o)->qps,             \
				.depth = &(o)->depth,         \
				.service = &(o)->service })

/*
 * --cells --gid-index --mtu --size --qps --depth, and those of rdma_service_argp. Its input is a
 * struct rdma_options.
 */
extern const struct argp rdma_options_argp;

/* Only --devices --pkey-index --sl --tclass. Its input is a struct rdma_service. */
extern const struct argp rdma_service_argp;

/* Is `subject` in the list? */
bool cells_have(const char *list, const char *subject);

/* Does a cell of the list begin or end with this port ("mlx5_0:1")? */
bool cells_have_port(const char *list, const char *port);
