/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of pairs: what they are about, and the result. */
#pragma once

#include "lib/report/report.h"
#include "probes/rnic_pair/pair.h"

enum pair_check {
	PAIR_CONNECT,
	PAIR_WRITE_BW,
	PAIR_WRITE_LAT,
	PAIR_CHECKS, /* of every pair; the following are optional: pair_ways.h */
	PAIR_SEND_BW = PAIR_CHECKS,
	PAIR_BIDIR_BW,
	PAIR_CHECKS_ALL,
};

struct topology;

/* One end of a pair, as named in samples. */
struct pair_end {
	const char *node;   /* of another host; NULL: this host */
	const char *device; /* NULL until that host has named it */
	unsigned port, rail;
	int numa;	  /* NUMA node of its memory; -1: unknown */
	bool gpu;	  /* its memory is a GPU's */
	const char *held; /* topology id of that GPU; NULL: unknown */
};

struct pair_end pair_end_of(const struct pair_side *side);

/* "mlx5_0:1", "node-b/mlx5_0:1", or only the node. The caller frees it. */
char *pair_end_name(const struct pair_end *end);

/*
 * A sample of `check` from one end to the other, without a result: subject, unit, ends, rails
 * (code), the class if both ends are on this host, and the path if `topology` (may be NULL) knows
 * the parts on this host. Between GPU memories the check has its own name
 * ("rnic_pair.gpu_write_bw"), so a good value for one kind of memory never stands for the other.
 */
struct sample pair_sample(const struct pair_end *from, const struct pair_end *to, int check,
			  const struct topology *topology);

/* Fill in the outcome of the connection. */
void pair_sample_verdict(struct sample *s, const struct pair_verdict *verdict);
