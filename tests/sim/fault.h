/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be wrong with hosts, and with what they say, as data (docs/sim.md).
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
	FAULT_HOT_RACK,	     /* the GPUs of all its hosts throttle */
	FAULT_SETTING,	     /* a BIOS setting that costs `slow`, which reports tell (env) */
	FAULT_SLOW_JOB,	     /* a job whose hosts are slow while it runs */
	FAULT_LOST_CHANNEL,  /* one of eight memory channels of a NUMA node */
	FAULT_TOO_FAST,	     /* a GPU measures three times what it can: a lying clock */
	FAULT_FLAP_STORM,    /* a port flaps, for minutes at a time, and carries what it should */
	FAULT_XID_STORM,     /* a GPU reports contained errors, for minutes at a time */
	N_FAULT_KINDS,
};

extern const char *const fault_names[];

/* What a kind is, for who puts it on hosts, mends it and grades it. */
struct fault_trait {
	double loss;	  /* part that is lost when nobody says how much */
	bool mends;	  /* with a repair of its host: it is the host's own */
	bool of_rack;	  /* of all hosts of one */
	bool shared;	  /* nobody's host: to be told as one */
	bool lies;	  /* the host itself is well */
	const char *told; /* of a shared cause: how its notice names it; NULL: by the rack */
};
extern const struct fault_trait fault_traits[];

/* What reports and notices call a setting, and a job, that are at fault. */
#define FAULT_BIOS "2.4.1-quiet"
#define FAULT_JOB "job-slow"

enum { FAULTS_MAX = 10000, FAULT_WAVES_MAX = 1000 };
/* `first` or `gpu`: each fault draws its own. */
#define FAULT_ANY UINT64_MAX

struct fault {
	int kind;	       /* enum fault_kind */
	uint64_t first, nodes; /* hosts first, first + 1, ...; FAULT_ANY: drawn one by one */
	uint64_t sku;	       /* number of the model that they are drawn from, or FAULT_ANY */
	double share; /* `nodes` are this part of the model; NAN: as many as `nodes` says */
	uint64_t gpu; /* 0 to 7, or FAULT_ANY */
	double slow;  /* part that is lost */
	uint64_t onset_us, until_us;
	bool blamed; /* a slow job names the host */
	bool known;  /* of a roll-out: reports say which driver they ran with */
	uint64_t waves, every_us;
};

struct faults {
	struct noise noise;
	struct world world;
	struct job_plan jobs;
	bool random; /* the usual mix besides */
	struct fault *list;
	size_t n;
};

/* The usual mix, noise and fleet. */
struct faults faults_init(void);
void faults_release(struct faults *f);

/* -EINVAL with "FILE: path.to.key: what". */
int faults_decode(const struct jval *v, struct faults *ret, struct err *err);

/*
 * Add the usual mix for a fleet and so many days (docs/sim.md has the table): what hosts get one by
 * one, and where the fleet has room for it what they share. At least one of each kind.
 */
void faults_add_usual(struct faults *f, uint64_t nodes, uint64_t days_us, uint64_t seed);
