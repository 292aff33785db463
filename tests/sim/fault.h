/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be wrong with hosts, and with what they say, as data (docs/sim.md).
 */
#pragma once

#include <stdint.h>

#include "lib/macro.h"
#include "tests/sim/noise.h"

struct err;
struct jval;

enum fault_kind {
	FAULT_SLOW_GPU,	     /* one GPU computes slowly; onset 0: born so */
	FAULT_SLOW_HOST,     /* all of them */
	FAULT_FLAPPING_LINK, /* one RNIC port goes down and up, and carries less */
	FAULT_SLOW_PCIE,     /* all that crosses the link of one GPU at half */
	FAULT_DYING_GPU,     /* falls off the bus, and says so */
	FAULT_BAD_TOR,	     /* halves the network of all its hosts */
	FAULT_ROLL_OUT,	     /* a driver that costs `slow`, in waves */
	FAULT_WRONG_SKU,     /* a SKU file that asks too much, for all */
	FAULT_SILENT,	     /* agents say nothing */
	FAULT_CLOCK,	     /* clocks that lie */
	FAULT_DUPLICATES,    /* each report twice */
	FAULT_LATE,	     /* some reports hours late, others after newer ones */
	N_FAULT_KINDS,
};

extern const char *const fault_names[];

enum { FAULTS_MAX = 10000, FAULT_WAVES_MAX = 1000 };
/* `first` or `gpu`: each fault draws its own. */
#define FAULT_ANY UINT64_MAX

struct fault {
	int kind;	       /* enum fault_kind */
	uint64_t first, nodes; /* hosts first, first + 1, ...; FAULT_ANY: drawn one by one */
	uint64_t gpu;	       /* 0 to 7, or FAULT_ANY */
	double slow;	       /* part that is lost */
	uint64_t onset_us, until_us;
	bool blamed; /* a job's attribution names the host */
	bool known;  /* of a roll-out: reports say which driver they ran with */
	uint64_t waves, every_us;
};

struct faults {
	struct noise noise;
	bool random; /* the usual mix besides */
	struct fault *list;
	size_t n;
};

/* The usual mix and the noise of the issue. */
struct faults faults_init(void);
void faults_release(struct faults *f);

/* -EINVAL with "FILE: path.to.key: what". */
int faults_decode(const struct jval *v, struct faults *ret, struct err *err);

/*
 * Add the usual mix for a fleet and so many days: per 1000 hosts and 10 days 8 GPUs and
 * 8 hosts that become 10 % slow, 8 hosts and 4 GPUs born so (half of these GPUs are blamed
 * by jobs), 4 slow PCIe links, 4 flapping links, 4 dying GPUs, and some agents that are silent,
 * lie about the time, or send twice or late. At least one of each.
 */
void faults_add_usual(struct faults *f, uint64_t nodes, uint64_t days_us, uint64_t seed);
