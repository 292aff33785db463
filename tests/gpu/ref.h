/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helpers of the reference programs of scripts/on-gpu: loading libraries by the
 * tables of cuda_abi.h, a clock, and fatal errors. Each program is a plain loop
 * over the calls of a library and uses nothing of the suite but those prototypes,
 * so that a probe and its reference agree only if both are right. Each prints
 * JSON, one object per line. An error ends the program with one line and status 1.
 */
#pragma once

#include <dlfcn.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probes/accel/library.h"
#include "probes/accel/nvml_abi.h"

#define REF_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Monotonic seconds. */
static inline double ref_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void ref_pause_us(unsigned us)
{
	struct timespec t = { .tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000 };

	(void)ppoll(NULL, 0, &t, NULL);
}

static inline void __attribute__((noreturn, format(printf, 1, 2))) ref_die(const char *format, ...)
{
	va_list list;

	(void)fflush(stdout);
	va_start(list, format);
	(void)vfprintf(stderr, format, list);
	va_end(list);
	(void)fputc('\n', stderr);
	_Exit(1);
}

/* Loads the path in the environment variable, else the first of `names` (NULL-terminated) that
 * loads. */
static inline void *ref_load(const char *variable, const char *const *names)
{
	const char *path = getenv(variable);
	void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	for (; !library && *names; names++)
		library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		ref_die("%s", dlerror());
	return library;
}

static inline void ref_find(void *library, const struct library_symbol *symbols, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		void *address = dlsym(library, symbols[i].name);

		if (!address && symbols[i].needed)
			ref_die("no %s in its library", symbols[i].name);
		memcpy(symbols[i].member, &address, sizeof(address));
	}
}

static inline void ref_load_driver(struct cuda_driver *table)
{
	static const char *const names[] = { "libcuda.so.1", NULL };
	const struct library_symbol symbols[] = { CUDA_DRIVER_FUNCTIONS(LIBRARY_SYMBOL) };

	ref_find(ref_load("REF_LIBCUDA", names), symbols, REF_COUNT(symbols));
}

static inline void ref_find_nvml(void *library, struct cuda_nvml *table)
{
	const struct library_symbol symbols[] = { CUDA_NVML_FUNCTIONS(LIBRARY_SYMBOL) };

	ref_find(library, symbols, REF_COUNT(symbols));
}

static inline void ref_find_health(void *library, struct nvml_health_calls *table)
{
	const struct library_symbol symbols[] = { NVML_HEALTH_FUNCTIONS(LIBRARY_SYMBOL) };

	ref_find(library, symbols, REF_COUNT(symbols));
}

static inline void ref_load_nvml(struct nvml_calls *ret)
{
	static const char *const names[] = { "libnvidia-ml.so.1", NULL };
	void *library = ref_load("REF_LIBNVIDIA_ML", names);

	ref_find_nvml(library, &ret->base);
	ref_find_health(library, &ret->health);
}

/* Ends the program unless `result`, of CUDA, cuBLASLt, NVML or NCCL, is 0. */
static inline void ref_ok(unsigned result, const char *what)
{
	if (result)
		ref_die("%s: error %u", what, result);
}
#define REF_OK(call) ref_ok((call), #call)

/* Waits until a stream is done; ends the program if that takes longer than `seconds`. */
static inline void ref_wait(const struct cuda_driver *cu, struct CUstream_st *stream, double seconds)
{
	double until = ref_now() + seconds;
	unsigned result;

	while ((result = cu->stream_query(stream)) == CUDA_NOT_READY) {
		if (ref_now() > until)
			ref_die("the stream was not done after %.0f s", seconds);
		ref_pause_us(50);
	}
	ref_ok(result, "cuStreamQuery");
}

/* Returns the argument after `name`, else `otherwise`. */
static inline const char *ref_option(int argc, char **argv, const char *name, const char *otherwise)
{
	int i;

	for (i = 1; i + 1 < argc; i++) {
		if (strcmp(argv[i], name) == 0)
			return argv[i + 1];
	}
	return otherwise;
}
