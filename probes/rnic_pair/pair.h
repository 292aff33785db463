/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-probe-rnic-pair: whether and how fast data gets from one RNIC port to another, on this host
 * or on another. Unlike in the loopback probe, the data crosses the cable, the transceivers and the
 * switches.
 *
 * A job is one direction of a pair. First every job must connect: a small write, then a full
 * packet. Then its bandwidth and latency are measured, with memory next to the RNIC on both sides.
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
	const char *cells; /* "mlx5_0:1>mlx5_1:1,..."; NULL: all */
	int gid_index;	   /* -1: chosen automatically */
	unsigned mtu;	   /* 0: the smaller one of the two ports */
	unsigned size, depth;
	unsigned qps; /* 0: the default of the ports */
	struct rdma_service service;
	int memory;		      /* enum pair_memory: pair_gpu.h */
	const struct accel_ops *gpus; /* of this host; NULL: none */
	bool ports_only; /* another program moves the data: no address chosen, no memory needed */
	bool connect_only;
	bool send, bidirectional;  /* extra measurements: pair_ways.h */
	const char *listen, *peer; /* HOST:PORT, for a pair of two hosts; at most one of them */
	const char *token_file;
	struct rdma_options rdma; /* pointers to the above, for the option parser */
};

struct pair_job {
	const struct pair_side *from, *to;
	size_t group; /* jobs of one group are measured at once: pair_rounds.h */
	size_t place; /* index in order of creation */
	struct pair_lanes writer, reader;
	struct pair_verdict verdict;
};
