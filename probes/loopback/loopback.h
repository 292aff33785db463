/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assay-probe-loopback: each active RNIC port writes to and reads from each
 * memory of its host through a queue pair that is connected to itself. What is
 * written leaves from the memory under test and arrives there, so that nothing
 * but the path between RNIC and memory is used, in both directions.
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

/* Which cells, when none are named. */
enum loopback_set {
	SET_FULL,  /* the whole mesh in rounds, then groups */
	SET_QUICK, /* few cells that tell every link, and the rest when one of them is low */
};

struct loopback_options {
	int set;	   /* enum loopback_set */
	const char *cells; /* "mlx5_0:1>numa:0,..." or NULL: all */
	int gid_index;	   /* -1: chosen */
	unsigned mtu;	   /* 0: the port's */
	unsigned size, depth;
	unsigned qps; /* 0: as suits the port */
	struct rdma_service service;
	struct rdma_options rdma; /* where they are, for the command line */
};

/* An endpoint: memory of one NUMA node or of a GPU, source in one half, target in the other. */
struct endpoint {
	char *id;	       /* of the topology, "numa:0", "gpu:0000:1b:00.0"; owned */
	char *subject;	       /* in samples, "gpu:GPU-..."; NULL: the id; owned */
	unsigned node;	       /* that it is nearest to */
	struct buffer *buffer; /* of a NUMA node, else NULL; owned */
	const char *pages;     /* what that is made of, for params: buffer_pages(); NULL: a GPU's */
	struct accel_region *gpu; /* two, of a GPU, else NULL; owned: loopback_gpu.h */
	char *broken;		  /* why its memory cannot be had; NULL: it can; owned */
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
	 * Subjects of all cells measured at once with this one so that they share a
	 * link, itself among them, NULL-terminated; NULL: it is measured alone, or
	 * beside cells that it shares nothing with. Then only bandwidth counts.
	 */
	char *const *with;
	/* Told what was measured, before it is printed; or NULL. `told_data` is its own. */
	void (*told)(const struct cell *cell, const struct sample *sample);
	void *told_data;
	struct answers *answers; /* who answers itself here, or NULL; borrowed */
};

/*
 * Measure `n` (at most FLOW_MANY_MAX) cells at once within `us`: write and read,
 * bandwidth together and latency one after another, and emit a sample of each;
 * set-up that fails makes samples of state set-up. Fails only as probe_emit() does.
 */
int cells_run(const struct cell *cells, size_t n, uint64_t us);

/* "mlx5_0:1>numa:0"; of a group of 3 cells, which is another thing, "mlx5_0:1>numa:0*3". New. */
char *cell_subject(const struct rdma_port *port, const struct endpoint *end, size_t at_once);

/* A sample of every check of the cell in a `state` other than measured, with the reason. */
int cell_emit_all(const struct cell *cell, int state, const char *why);

/* What there is to measure; all borrowed. */
struct loopback_host {
	struct probe *probe;
	struct rdma_engine *engine;
	const struct rdma_port *ports;
	size_t n_ports;
	const struct endpoint *ends;
	size_t n_ends;
	const struct topology *topology; /* or NULL */
	const struct numa_host *numa;	 /* cores to measure from, or NULL: any */
};

/*
 * All cells of `engine` that the options ask for, to the memory of the NUMA nodes and of the
 * GPUs of `accel` (NULL: no GPU engine). Errors as struct probe_desc's run().
 */
int loopback_run(struct probe *probe, struct rdma_engine *engine, const struct accel_ops *accel,
		 struct err *err);
