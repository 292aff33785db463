/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of pairs: what they are about, and what was measured. */
#pragma once

#include "lib/report/report.h"
#include "probes/rnic_pair/pair.h"

enum pair_check {
	PAIR_CONNECT,
	PAIR_WRITE_BW,
	PAIR_WRITE_LAT,
	PAIR_CHECKS, /* of every pair; what follows is measured when asked for: pair_ways.h */
	PAIR_SEND_BW = PAIR_CHECKS,
	PAIR_BIDIR_BW,
	PAIR_CHECKS_ALL,
};

struct topology;

/* One end of a pair as samples name it. */
struct pair_end {
	const char *node;   /* of another host; NULL: this one */
	const char *device; /* NULL while that host has not said it */
	unsigned port, rail;
	int numa;	  /* of its memory; -1 unknown */
	bool gpu;	  /* its memory is a GPU's */
	const char *held; /* id of that GPU in the topology; NULL: not known */
};

struct pair_end pair_end_of(const struct pair_side *side);

/* "mlx5_0:1", "node-b/mlx5_0:1", or the node alone. New memory. */
char *pair_end_name(const struct pair_end *end);

/*
 * A sample of `check` from one end to the other with all that names it: subject,
 * unit, ends, rails (code), class when both are of this host, path when
 * `topology` (may be NULL) knows the parts of this host. Between memories of GPUs
 * it is another check, "rnic_pair.gpu_write_bw": a good value of one memory never
 * stands for the other.
 */
struct sample pair_sample(const struct pair_end *from, const struct pair_end *to, int check,
			  const struct topology *topology);

/* What the connection came to. */
void pair_sample_verdict(struct sample *s, const struct pair_verdict *verdict);
