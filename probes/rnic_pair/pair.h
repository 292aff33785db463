/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-probe-rnic-pair: what leaves one RNIC port arrives at another, of this
 * host or of another one, and how fast. Unlike the loopback probe's, these
 * bytes use the cable, the transceivers and the switches.
 *
 * A job is one direction of a pair. First every job must connect: a small write,
 * then a full packet. Then its bandwidth and latency are measured, with memory
 * next to the RNIC on both sides.
 */
#pragma once

#include "probes/harness/probe.h"
#include "probes/rdma/options.h"
#include "probes/rdma/rdma.h"
#include "probes/rnic_pair/pair_side.h"
#include "probes/rnic_pair/pair_verdict.h"

struct accel_ops;
struct topology;

enum {
	/* 32 x 31 pairs of 3 checks fill a probe's samples. */
	PAIR_PORTS_MAX = 32,
};

struct pair_options {
	const char *cells; /* "mlx5_0:1>mlx5_1:1,..." or NULL: all */
	int gid_index;	   /* -1: chosen */
	unsigned mtu;	   /* 0: the smaller of the two ports' */
	unsigned size, depth;
	unsigned qps; /* 0: as suits the ports */
	struct rdma_service service;
	int memory;		      /* enum pair_memory: pair_gpu.h */
	const struct accel_ops *gpus; /* of this host; NULL: it has none */
	bool ports_only; /* another moves the data: no address is chosen, no memory registered */
	bool connect_only;
	bool send, bidirectional;  /* measured besides: pair_ways.h */
	const char *listen, *peer; /* HOST:PORT of a pair of two hosts; at most one of them */
	const char *token_file;
	struct rdma_options rdma; /* where they are, for the command line */
};

struct pair_job {
	const struct pair_side *from, *to;
	size_t group; /* jobs of one group are measured at once: pair_rounds.h */
	size_t place; /* in the order that they were made */
	struct pair_lanes writer, reader;
	struct pair_verdict verdict;
};
