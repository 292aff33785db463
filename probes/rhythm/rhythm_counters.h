/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples counters of this host for a while: bytes sent by RDMA ports, from sysfs, and the busy
 * time of GPUs, from NVML, which reports utilisation during its last sampling period (1/6 s to 1 s:
 * NVML API reference, nvmlDeviceGetUtilizationRates). Each kind is read by a thread of its own,
 * because a read may hang on a faulty device, and the other kind must still be reported. Nothing is
 * written to a device, and jobs are not touched.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/judge/rhythm.h"

enum {
	RHYTHM_COUNTERS_MAX = 64, /* per kind: RDMA ports, GPUs */
	RHYTHM_NAME_SIZE = 80,
};

enum rhythm_kind { RHYTHM_RNICS, RHYTHM_GPUS, RHYTHM_KINDS };

/* One counter; its sampling times are those of its kind. */
struct rhythm_counter {
	char name[RHYTHM_NAME_SIZE]; /* "mlx5_0:1", "gpu 3" */
	uint64_t totals[RHYTHM_SAMPLES_MAX];
	bool lost; /* no longer readable: its samples end there */
	size_t n;  /* samples until then */
};

/* All counters of a kind. The thread owns it until it has ended. */
struct rhythm_set {
	enum rhythm_kind kind;
	size_t samples;	   /* requested, up to RHYTHM_SAMPLES_MAX */
	uint64_t every_us; /* sampling interval */
	uint64_t begin_us; /* monotonic time of the first sample */
	pthread_t thread;
	uint64_t at_us[RHYTHM_SAMPLES_MAX];
	size_t n; /* samples taken */
	struct rhythm_counter counters[RHYTHM_COUNTERS_MAX];
	size_t n_counters;
	char why[160]; /* why there are no counters; otherwise "" */
};

/*
 * Start the thread; the first four members of `set` must be filled in. Negative errno: no thread
 * could be created.
 */
int rhythm_counters_begin(struct rhythm_set *set);

/*
 * Wait until it has ended or until the given monotonic time. Returns false if it hangs in a read;
 * `set` must then never be used or freed.
 */
bool rhythm_counters_end(struct rhythm_set *set, uint64_t until_us);
