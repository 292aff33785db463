/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated host: 8 GPUs and 8 RNICs, and the reports it makes. What a run measures
 * is the model of noise.h, changed by the faults that it has at that time. Its reports and
 * all their texts stay where they are until hosts_done().
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/report/report.h"
#include "tests/sim/fault.h"

enum {
	HOST_PARTS = 8,	 /* GPUs; as many RNICs */
	HOST_NUMA = 2,	 /* NUMA nodes */
	HOST_FAULTS = 4, /* that one host has at most */
};

/* A fault as one host has it. */
struct ailment {
	const struct fault *fault;
	uint64_t onset_us, until_us;
	uint64_t gpu;
};

/* What is compared says with which driver or firmware. */
enum params {
	PARAMS_DRIVER_OLD,
	PARAMS_DRIVER_NEW,
	PARAMS_FIRMWARE,
	PARAMS_FIRMWARE_OTHER,
	HOST_PARAMS,
};

struct sim_host {
	char name[24], rack[24], boot_id[40], sku[WORLD_SKU_SIZE];
	size_t number, model; /* of world.h */
	size_t rack_number;
	double height;			     /* in its rack, 0 to 1 */
	double rates[HOST_KINDS];	     /* of its model */
	double part[HOST_KINDS][HOST_PARTS]; /* for good: host and part together */
	double boot[HOST_PARTS];	     /* of its GPUs, until it boots again */
	unsigned boots;
	bool other_firmware, other_kernel;
	bool low_once; /* its last active run was */
	struct ailment ailments[HOST_FAULTS];
	size_t n_ailments;
	json_t *params[HOST_PARAMS];
	struct random chance;
	uint64_t seq;
	struct report report;	/* of the last run; its samples are in `samples` */
	struct sample *samples; /* one of each */
	size_t n_samples;
	struct problem problems[HOST_KINDS];
};

/* The fleet's hosts, without faults. */
struct sim_host *hosts_make(size_t n, const struct faults *faults, uint64_t seed);
void hosts_done(struct sim_host *hosts, size_t n);

/* Give it to a host that has room; false when it has none. */
bool host_ail(struct sim_host *host, const struct ailment *ailment);

/* The one of this kind it has now, or NULL. */
const struct ailment *host_has(const struct sim_host *host, int kind, uint64_t now_us);

/* What a part has lost for good by faults that it was born with: 1 is nothing. */
double host_born(const struct sim_host *host, enum kind kind, size_t part);

/* Has its last run measured the check? NULL: any. */
bool host_measured(const struct sim_host *host, const char *check);

/* Has it anything now that a passive run sees? */
bool host_shows(const struct sim_host *host, uint64_t now_us);

/* What is wrong with it is mended. */
void host_mend(struct sim_host *host, uint64_t now_us);

/* Time has gone on since its last active run: it may have booted again. */
void host_live(struct sim_host *host, const struct noise *noise);

/* It boots again. */
void host_boot(struct sim_host *host, const struct noise *noise);

/*
 * How fast its slowest GPU computes for a job now, of what is usual of its model: as a run measures
 * it, by the lot of the caller.
 */
double host_speed(const struct sim_host *host, const struct faults *f, uint64_t seed,
		  uint64_t now_us, struct random *lot);

/* The report of a run of this profile ("passive" or "quick") now; borrowed, until the next. */
const struct report *host_run(struct sim_host *host, const struct faults *f, uint64_t seed,
			      const char *profile, uint64_t now_us);
