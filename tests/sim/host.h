/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated host: 8 GPUs and 8 RNICs, and its reports. A run measures the values of the
 * model in noise.h, modified by the faults active at that time. Its reports and all their
 * strings stay valid until hosts_done().
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/report/report.h"
#include "tests/sim/fault.h"

enum {
	HOST_PARTS = 8,	 /* GPUs; as many RNICs */
	HOST_NUMA = 2,	 /* NUMA nodes */
	HOST_FAULTS = 4, /* per host, at most */
};

/* A fault on one host. */
struct ailment {
	const struct fault *fault;
	uint64_t onset_us, until_us;
	uint64_t gpu;
};

/* Sets of sample params: values are compared only with the same driver or firmware. */
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
	double part[HOST_KINDS][HOST_PARTS]; /* permanent variation of host and part together */
	double boot[HOST_PARTS];	     /* variation of its GPUs until the next boot */
	unsigned boots;
	bool other_firmware, other_kernel;
	bool low_once; /* its last active run had a dip */
	struct ailment ailments[HOST_FAULTS];
	size_t n_ailments;
	json_t *params[HOST_PARAMS];
	struct random chance;
	uint64_t seq;
	struct report report;	/* of the last run; its samples are in `samples` */
	struct sample *samples; /* one per check and subject */
	size_t n_samples;
	struct problem problems[HOST_KINDS];
};

/* Returns the fleet's hosts, without faults. */
struct sim_host *hosts_make(size_t n, const struct faults *faults, uint64_t seed);
void hosts_done(struct sim_host *hosts, size_t n);

/* Adds the ailment to a host. Returns false if it has HOST_FAULTS already. */
bool host_ail(struct sim_host *host, const struct ailment *ailment);

/* Returns the active ailment of this kind, or NULL. */
const struct ailment *host_has(const struct sim_host *host, int kind, uint64_t now_us);

/* Returns the factor that a part's faults from the start leave of its rate; 1: no fault. */
double host_born(const struct sim_host *host, enum kind kind, size_t part);

/* Did its last run measure the check? NULL: any check. */
bool host_measured(const struct sim_host *host, const char *check);

/* Does it have a fault that a passive run can see? */
bool host_shows(const struct sim_host *host, uint64_t now_us);

/* Repairs its faults. */
void host_mend(struct sim_host *host, uint64_t now_us);

/* Call before an active run: it may have rebooted since the last. */
void host_live(struct sim_host *host, const struct noise *noise);

/* Reboots it. */
void host_boot(struct sim_host *host, const struct noise *noise);

/*
 * Returns the speed of its slowest GPU in a job now, relative to the usual of its model, with the
 * noise of a run drawn from `lot`.
 */
double host_speed(const struct sim_host *host, const struct faults *f, uint64_t seed,
		  uint64_t now_us, struct random *lot);

/* Runs this profile ("passive" or "quick") now. Returns its report, borrowed until the next run. */
const struct report *host_run(struct sim_host *host, const struct faults *f, uint64_t seed,
			      const char *profile, uint64_t now_us);
