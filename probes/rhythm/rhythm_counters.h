/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of this host, read again and again for a while: bytes that RDMA ports sent, from sysfs,
 * and the time that GPUs were busy, from NVML, which tells the busy part of its last sample period
 * (1/6 s to 1 s: NVML API reference, nvmlDeviceGetUtilizationRates). Each kind is read by a thread
 * of its own: a read may hold for ever where a device is sick, and then the other kind is told all
 * the same. Nothing is written to a device, and nothing of a job is touched.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/judge/rhythm.h"

enum {
	RHYTHM_COUNTERS_MAX = 64, /* of a kind: RDMA ports, GPUs */
	RHYTHM_NAME_SIZE = 80,
};

enum rhythm_kind { RHYTHM_RNICS, RHYTHM_GPUS, RHYTHM_KINDS };

/* One of them; its samples are of the times of its kind. */
struct rhythm_counter {
	char name[RHYTHM_NAME_SIZE]; /* "mlx5_0:1", "gpu 3" */
	uint64_t totals[RHYTHM_SAMPLES_MAX];
	bool lost; /* it could not be read any more: what it shows ends there */
	size_t n;  /* samples up to then */
};

/* All of a kind. The thread owns it until it has ended. */
struct rhythm_set {
	enum rhythm_kind kind;
	size_t samples;	   /* wanted, up to RHYTHM_SAMPLES_MAX */
	uint64_t every_us; /* from one to the next */
	uint64_t begin_us; /* monotonic, of the first */
	pthread_t thread;
	uint64_t at_us[RHYTHM_SAMPLES_MAX];
	size_t n; /* samples that were taken */
	struct rhythm_counter counters[RHYTHM_COUNTERS_MAX];
	size_t n_counters;
	char why[160]; /* there is none, "" otherwise */
};

/* Begin; `set` has its first four members. Negative errno: there is no thread for it. */
int rhythm_counters_begin(struct rhythm_set *set);

/*
 * Wait for its end until then (monotonic). False: it is stuck in a read, and `set` is never to be
 * touched again, nor freed.
 */
bool rhythm_counters_end(struct rhythm_set *set, uint64_t until_us);
