/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of hosts and of their reports, as data (docs/sim.md).
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "tests/sim/job_plan.h"
#include "tests/sim/noise.h"
#include "tests/sim/world.h"

struct err;
struct jval;

enum fault_kind {
	FAULT_SLOW_GPU,	     /* one GPU computes slowly; onset 0: from the start */
	FAULT_SLOW_HOST,     /* all GPUs of a host */
	FAULT_FLAPPING_LINK, /* one RNIC port flaps and is slower */
	FAULT_SLOW_PCIE,     /* the PCIe link of one GPU runs at half rate */
	FAULT_DYING_GPU,     /* falls off the bus and logs it */
	FAULT_BAD_TOR,	     /* halves the network of all its hosts */
	FAULT_ROLL_OUT,	     /* a driver that costs `slow`, in waves */
	FAULT_WRONG_SKU,     /* a SKU file that expects too much, for all hosts */
	FAULT_SILENT,	     /* agents stop reporting */
	FAULT_CLOCK,	     /* wrong clocks */
	FAULT_DUPLICATES,    /* each report is sent twice */
	FAULT_LATE,	     /* some reports are hours late, others out of order */
	FAULT_HOT_RACK,	     /* the GPUs of all its hosts throttle */
	FAULT_SETTING,	     /* a BIOS setting that costs `slow` and is in the reports (env) */
	FAULT_SLOW_JOB,	     /* a job whose hosts are slow while it runs */
	FAULT_LOST_CHANNEL,  /* one of eight memory channels of a NUMA node fails */
	FAULT_TOO_FAST,	     /* a GPU measures three times its rate: a wrong clock */
	FAULT_FLAP_STORM,    /* a port flaps for minutes at a time, at full rate between */
	FAULT_XID_STORM,     /* a GPU reports contained errors, for minutes at a time */
	N_FAULT_KINDS,
};

extern const char *const fault_names[];

/* Properties of a kind, used when injecting, repairing and grading it. */
struct fault_trait {
	double loss;	  /* default fraction of the rate lost */
	bool mends;	  /* a repair of the host fixes it */
	bool of_rack;	  /* affects all hosts of a rack */
	bool shared;	  /* not a host's own: needs one notice for all */
	bool lies;	  /* only the reports are wrong; the host is well */
	const char *told; /* of a shared cause: its name in the notice; NULL: the rack */
};
extern const struct fault_trait fault_traits[];

/* The name, in reports and notices, of a faulty setting and of a faulty job. */
#define FAULT_BIOS "2.4.1-quiet"
#define FAULT_JOB "job-slow"

enum { FAULTS_MAX = 10000, FAULT_WAVES_MAX = 1000 };
/* For `first` or `gpu`: drawn at random per fault. */
#define FAULT_ANY UINT64_MAX

struct fault {
	int kind;	       /* enum fault_kind */
	uint64_t first, nodes; /* hosts first, first + 1, ...; FAULT_ANY: drawn one by one */
	uint64_t sku;	       /* number of the model that they are drawn from, or FAULT_ANY */
	double share;	       /* sets `nodes` to this fraction of the model; NAN: use `nodes` */
	uint64_t gpu;	       /* 0 to 7, or FAULT_ANY */
	double slow;	       /* fraction of the rate lost */
	uint64_t onset_us, until_us;
	bool blamed; /* a slow job names the host */
	bool known;  /* of a roll-out: reports contain the driver version */
	uint64_t waves, every_us;
};

struct faults {
	struct noise noise;
	struct world world;
	struct job_plan jobs;
	bool random; /* add the usual mix */
	struct fault *list;
	size_t n;
};

/* Returns the defaults: the usual mix, noise and fleet. */
struct faults faults_init(void);
void faults_release(struct faults *f);

/* Returns -EINVAL with "FILE: path.to.key: what". */
int faults_decode(const struct jval *v, struct faults *ret, struct err *err);

/*
 * Adds the usual mix for a fleet of this size and duration (table in docs/sim.md): faults of single
 * hosts, and shared ones if the fleet is large enough. At least one of each kind.
 */
void faults_add_usual(struct faults *f, uint64_t nodes, uint64_t days_us, uint64_t seed);
