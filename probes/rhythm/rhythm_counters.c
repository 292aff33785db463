/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rhythm/rhythm_counters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/sys/rnic_ports.h"
#include "lib/sys/sysfs.h"
#include "probes/accel/cuda_load.h"

/* port_xmit_data counts words of four bytes: IBTA 16.1.3.5. */
enum { XMIT_UNIT = 4 };

/* --- RDMA ports --- */

static void find_ports(struct rhythm_set *set)
{
	CLEANUP(ports_release) struct ports ports = { 0 };
	size_t i;

	ports_read(NULL, &ports);
	for (i = 0; i < ports.n && set->n_counters < RHYTHM_COUNTERS_MAX; i++) {
		if (!ports.all[i].software)
			(void)snprintf(set->counters[set->n_counters++].name, RHYTHM_NAME_SIZE,
				       "%s", ports.all[i].subject);
	}
	if (set->n_counters == 0)
		(void)snprintf(set->why, sizeof(set->why),
			       "this host has no RDMA port with counters");
}

/* Read the port "mlx5_0:1". */
static bool read_port(const struct rhythm_counter *c, uint64_t *ret)
{
	const char *colon = strrchr(c->name, ':');
	uint64_t words;

	if (!colon || !sys_u64(&words, "/sys/class/infiniband/%.*s/ports/%s/counters/port_xmit_data",
			       (int)(colon - c->name), c->name, colon + 1))
		return false;
	*ret = words * XMIT_UNIT;
	return true;
}

static void read_ports(struct rhythm_set *set, size_t at)
{
	size_t i;

	for (i = 0; i < set->n_counters; i++) {
		struct rhythm_counter *c = &set->counters[i];

		c->lost = c->lost || !read_port(c, &c->totals[at]);
		c->n += !c->lost;
	}
}

static void watch_ports(struct rhythm_set *set, bool (*next)(struct rhythm_set *set))
{
	find_ports(set);
	while (set->n_counters && next(set)) {
		set->at_us[set->n] = clock_mono_us();
		read_ports(set, set->n++);
	}
}

/* --- GPUs --- */

struct nvml_gpus {
	struct nvml_calls calls;
	struct nvml_device *devices[RHYTHM_COUNTERS_MAX];
};

static int find_gpus(struct rhythm_set *set, struct nvml_gpus *gpus)
{
	struct err err = ERR_INIT;
	unsigned n = 0, i;

	if (nvml_load(&gpus->calls, &err) < 0) {
		(void)snprintf(set->why, sizeof(set->why), "%.150s", err.msg);
		return -ENOTSUP;
	}
	if (gpus->calls.base.init() != NVML_OK || gpus->calls.health.count(&n) != NVML_OK ||
	    !gpus->calls.health.utilization || n == 0) {
		(void)snprintf(set->why, sizeof(set->why), "NVML tells of no GPU");
		return -ENODEV;
	}
	for (i = 0; i < n && i < RHYTHM_COUNTERS_MAX; i++) {
		struct rhythm_counter *c = &set->counters[i];

		(void)snprintf(c->name, sizeof(c->name), "gpu %u", i);
		c->lost = gpus->calls.health.by_index(i, &gpus->devices[i]) != NVML_OK;
		set->n_counters++;
	}
	return 0;
}

/* Busy microseconds: NVML's utilisation times the interval since the last sample. */
static void read_gpus(struct rhythm_set *set, const struct nvml_gpus *gpus, size_t at)
{
	const uint64_t passed_us = at ? set->at_us[at] - set->at_us[at - 1] : 0;
	size_t i;

	for (i = 0; i < set->n_counters; i++) {
		struct rhythm_counter *c = &set->counters[i];
		struct nvml_utilization use = { 0 };

		c->lost = c->lost ||
			  gpus->calls.health.utilization(gpus->devices[i], &use) != NVML_OK;
		if (c->lost)
			continue;
		c->totals[at] = (at ? c->totals[at - 1] : 0) + passed_us * MIN(use.gpu, 100u) / 100;
		c->n++;
	}
}

static void watch_gpus(struct rhythm_set *set, bool (*next)(struct rhythm_set *set))
{
	struct nvml_gpus gpus = { .devices = { NULL } };

	if (find_gpus(set, &gpus) < 0)
		return;
	while (next(set)) {
		set->at_us[set->n] = clock_mono_us();
		read_gpus(set, &gpus, set->n);
		set->n++;
	}
}

/* --- the thread --- */

/*
 * Wait for the next sample; missed samples are not made up for. Returns false after the last one.
 */
static bool next_sample(struct rhythm_set *set)
{
	uint64_t at_us = set->begin_us + set->n * set->every_us;
	struct timespec until;

	if (set->n >= set->samples ||
	    clock_mono_us() >= set->begin_us + set->samples * set->every_us)
		return false;
	if (set->n && at_us <= set->at_us[set->n - 1])
		at_us = set->at_us[set->n - 1] + set->every_us;
	until = clock_timespec(at_us);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
	return true;
}

static void *watch(void *context)
{
	static void (*const watches[RHYTHM_KINDS])(struct rhythm_set *,
						   bool (*)(struct rhythm_set *)) = {
		[RHYTHM_RNICS] = watch_ports,
		[RHYTHM_GPUS] = watch_gpus,
	};
	struct rhythm_set *set = context;

	watches[set->kind](set, next_sample);
	return NULL;
}

int rhythm_counters_begin(struct rhythm_set *set)
{
	return -pthread_create(&set->thread, NULL, watch, set);
}

bool rhythm_counters_end(struct rhythm_set *set, uint64_t until_us)
{
	const struct timespec until = clock_timespec(until_us);

	return pthread_clockjoin_np(set->thread, NULL, CLOCK_MONOTONIC, &until) == 0;
}
