/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: injects faults between a probe and the libraries of a healthy GPU.
 *
 *	ASSAY_SHIM=hang      work never completes: cuEventQuery() and cuStreamQuery() return
 *	                     "not ready" from GOOD_S seconds after the first call on
 *	ASSAY_SHIM=slow-nvml NVML takes LATE_S seconds to return a clock
 *
 * Probes look functions up by dlsym(), so this overrides dlsym().
 */
#include <dlfcn.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probes/accel/cuda_abi.h"

/* dlsym's first symbol version, which every glibc has; it differs between architectures. */
#ifdef __x86_64__
#define DLSYM_VERSION "GLIBC_2.2.5"
#else
#define DLSYM_VERSION "GLIBC_2.17"
#endif

enum { GOOD_S = 2, LATE_S = 5 };

static unsigned (*event_query)(struct CUevent_st *);
static unsigned (*stream_query)(struct CUstream_st *);
static unsigned (*clock_info)(struct nvml_device *, unsigned, unsigned *);
static _Atomic long long first_ms;

static bool is_hung(void)
{
	struct timespec t;
	long long now, none = 0;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	now = (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
	(void)atomic_compare_exchange_strong(&first_ms, &none, now);
	return now - atomic_load(&first_ms) >= 1000LL * GOOD_S;
}

static unsigned hung_event(struct CUevent_st *event)
{
	return is_hung() ? (unsigned)CUDA_NOT_READY : event_query(event);
}

static unsigned hung_stream(struct CUstream_st *stream)
{
	return is_hung() ? (unsigned)CUDA_NOT_READY : stream_query(stream);
}

static unsigned late_clock(struct nvml_device *device, unsigned type, unsigned *mhz)
{
	struct timespec late = { .tv_sec = LATE_S };

	(void)ppoll(NULL, 0, &late, NULL);
	return clock_info(device, type, mhz);
}

/* NOLINTNEXTLINE(readability-identifier-naming): the C library's */
void *dlsym(void *library, const char *name)
{
	static const struct {
		const char *fault, *name;
		void **real;
		void *ours;
	} table[] = {
		{ "hang", "cuEventQuery", (void **)&event_query, (void *)hung_event },
		{ "hang", "cuStreamQuery", (void **)&stream_query, (void *)hung_stream },
		{ "slow-nvml", "nvmlDeviceGetClockInfo", (void **)&clock_info, (void *)late_clock },
	};
	void *(*find)(void *, const char *) =
		(void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", DLSYM_VERSION);
	const char *fault = getenv("ASSAY_SHIM");
	size_t i;

	if (!find)
		abort();
	for (i = 0; fault && i < sizeof(table) / sizeof(table[0]); i++) {
		if (strcmp(fault, table[i].fault) == 0 && strcmp(name, table[i].name) == 0) {
			*table[i].real = find(library, name);
			return *table[i].real ? table[i].ours : NULL;
		}
	}
	return find(library, name);
}
