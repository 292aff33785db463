/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-probe-loopback: each active RNIC port writes to and reads from each memory of its host,
 * through a queue pair connected to itself. Data leaves the memory under test and returns to it, so
 * only the path between RNIC and memory is used, in both directions.
 */
#pragma once

#include "probes/harness/probe.h"
#include "probes/rdma/flow.h"
#include "probes/rdma/gid.h"
#include "probes/rdma/options.h"
#include "probes/rdma/rdma.h"

struct accel_ops;
struct accel_region;
struct answers;
struct buffer;
struct numa_host;
struct topology;

/* Which cells to measure if none are named. */
enum loopback_set {
	SET_FULL,  /* the whole mesh in rounds, then groups */
	SET_QUICK, /* a few cells that cover every link, and the rest if one of them is low */
};

struct loopback_options {
	int set;	   /* enum loopback_set */
	const char *cells; /* "mlx5_0:1>numa:0,..."; NULL: all */
	int gid_index;	   /* -1: chosen automatically */
	unsigned mtu;	   /* 0: the port's */
	unsigned size, depth;
	unsigned qps; /* 0: the port's default */
	struct rdma_service service;
	struct rdma_options rdma; /* pointers to the above, for the option parser */
};

/* An endpoint: memory of a NUMA node or GPU; one half is the source, the other the target. */
struct endpoint {
	char *id;		  /* topology id, "numa:0", "gpu:0000:1b:00.0"; owned */
	char *subject;		  /* in samples, "gpu:GPU-..."; NULL: the id; owned */
	unsigned node;		  /* nearest NUMA node */
	struct buffer *buffer;	  /* of a NUMA node, otherwise NULL; owned */
	const char *pages;	  /* page type for params: buffer_pages(); NULL for a GPU */
	struct accel_region *gpu; /* two regions of a GPU, otherwise NULL; owned: loopback_gpu.h */
	char *broken;		  /* why its memory is unavailable, or NULL; owned */
	int failed;		  /* the same as a negative errno; -EBUSY: others compute on it */
	uint64_t bytes;		  /* of each half */
};

struct cell {
	struct probe *probe;
	struct rdma_engine *engine;
	const struct loopback_options *options;
	const struct rdma_port *port;
	const struct endpoint *end;
	const struct topology *topology; /* or NULL */
	/*
	 * NULL-terminated subjects of all cells, itself included, that are measured at once with
	 * this one in order to share a link; only bandwidth is then measured. NULL: measured alone,
	 * or beside cells that it shares nothing with.
	 */
	char *const *with;
	/* Called with each sample before it is printed; may be NULL. */
	void (*told)(const struct cell *cell, const struct sample *sample);
	void *told_data;
	struct answers *answers; /* which ports answer themselves; may be NULL; borrowed */
};

/*
 * Measure `n` (at most FLOW_MANY_MAX) cells at once within `us` and emit their samples: write and
 * read, bandwidth of all cells together, then latency one after another. Set-up failures become
 * samples of state set-up. Fails only as probe_emit() does.
 */
int cells_run(const struct cell *cells, size_t n, uint64_t us);

/* "mlx5_0:1>numa:0", or for a group of 3 cells "mlx5_0:1>numa:0*3". The caller frees it. */
char *cell_subject(const struct rdma_port *port, const struct endpoint *end, size_t at_once);

/* Emit a sample for every check of the cell, in a `state` other than measured, with the reason. */
int cell_emit_all(const struct cell *cell, int state, const char *why);

/* What there is to measure; everything is borrowed. */
struct loopback_host {
	struct probe *probe;
	struct rdma_engine *engine;
	const struct rdma_port *ports;
	size_t n_ports;
	const struct endpoint *ends;
	size_t n_ends;
	const struct topology *topology; /* or NULL */
	const struct numa_host *numa;	 /* cores to measure from; NULL: any */
};

/*
 * Measure the cells of `engine` selected by the options, to the memory of the NUMA nodes and of the
 * GPUs of `accel` (NULL: no GPU engine). Errors as for run() of struct probe_desc.
 */
int loopback_run(struct probe *probe, struct rdma_engine *engine, const struct accel_ops *accel,
		 struct err *err);
