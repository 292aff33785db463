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

/* One small write and one of a full packet, each within PAIR_TRY_US. */
enum { PAIR_SMALL_BYTES = 64, PAIR_TRY_BYTES = 4096, PAIR_TRY_RETRIES = 3 };
/* Four tries of 67 ms, of which devices may make 268 each; and some to spare. */
#define PAIR_TRY_US (2 * USEC_PER_SEC)
#define PAIR_SMALL_WORDS "a write of 64 bytes"
#define PAIR_FULL_WORDS "a write of one full packet"
/* bytes, from, to, bytes */
#define PAIR_SMALLER_WORDS                                                                     \
	"packets of %u bytes do not get from %s to %s, but those of %u do: something between " \
	"them has a smaller MTU; set the same MTU on all ports and switches"

/* Queue pairs that its rates are measured with: as asked for, else as suits the slower port. */
unsigned pair_job_queues(const struct pair_job *job);

/* Tried when full packets are lost, up to a 0: steps that switches are set to. */
extern const unsigned pair_smaller_mtus[];

/* Open both ends of a job in this process and connect them; pair_part() in any case. */
int pair_join(struct pair_job *job, const struct pair_want *want, struct err *err);
void pair_part(struct pair_job *job);

/*
 * Connect all jobs, write 64 bytes through each and then a full packet, all at
 * once, by the deadline; fills their verdicts and leaves no lanes open.
 */
void pair_connect_all(struct pair_job *jobs, size_t n, uint64_t deadline_us);

/* All ordered pairs of `engine` that the options ask for. Errors as struct probe_desc's run(). */
int pair_run(struct probe *probe, struct rdma_engine *engine, struct err *err);
