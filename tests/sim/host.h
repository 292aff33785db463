/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated host: 8 GPUs and 8 RNICs, and the reports it makes. What a run measures
 * is the model of noise.h, changed by the faults that it has at that time. Its reports and
 * all their texts stay where they are until hosts_done().
 */
#pragma once

#include <stdint.h>

#include "lib/macro.h"
#include "lib/report.h"
#include "tests/sim/fault.h"

enum {
	HOST_PARTS = 8,	   /* GPUs; as many RNICs */
	HOST_KINDS = 3,	   /* checks that are measured in each part */
	HOST_FAULTS = 4,   /* that one host has at most */
	HOSTS_OF_RACK = 64 /* under one ToR: one failure domain */
};

/* A fault as one host has it. */
struct ailment {
	const struct fault *fault;
	uint64_t onset_us, until_us;
	uint64_t gpu;
};

struct sim_host {
	char name[24], rack[24], boot_id[24];
	size_t number;
	double part[HOST_KINDS][HOST_PARTS]; /* for good: host and part together */
	struct ailment ailments[HOST_FAULTS];
	size_t n_ailments;
	struct random chance;
	uint64_t seq;
	struct report report;	/* of the last run; its samples are in `samples` */
	struct sample *samples; /* one of each */
	size_t n_samples;
};

/* The fleet's hosts, without faults. */
struct sim_host *hosts_make(size_t n, const struct noise *noise, uint64_t seed);
void hosts_done(struct sim_host *hosts, size_t n);

/* Give it to a host that has room; false when it has none. */
bool host_ail(struct sim_host *host, const struct ailment *ailment);

/* The one of this kind it has now, or NULL. */
const struct ailment *host_has(const struct sim_host *host, int kind, uint64_t now_us);

/* Has it anything now that a passive run sees? */
bool host_shows(const struct sim_host *host, uint64_t now_us);

/* What is wrong with it is mended. */
void host_mend(struct sim_host *host, uint64_t now_us);

/* The report of a run of this profile ("passive" or "quick") now; borrowed, until the next. */
const struct report *host_run(struct sim_host *host, const struct noise *noise, uint64_t seed,
			      const char *profile, uint64_t now_us);
