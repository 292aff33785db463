/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libraries of a GPU driver and of CUDA, loaded while the program runs: a
 * host without them runs the program all the same, and tests put fakes in
 * their place through LD_LIBRARY_PATH.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/err.h"
#include "probes/accel/cuda_abi.h"
#include "probes/accel/nvml_abi.h"

/* Once loaded they stay: their threads may outlive what used them. */
struct cuda_libs {
	struct cuda_driver driver;
	struct cuda_lt lt; /* empty without products */
	struct cuda_nvml nvml;
	bool has_nvml;
	int driver_version;	     /* 1000 major + 10 minor, of CUDA that the driver knows */
	char nvml_why[ERR_MSG_SIZE]; /* why NVML is not there */
};

/*
 * Load libcuda and initialise it, then the newest cuBLASLt that this driver can
 * run if there will be `products`, and NVML where there is one. -ENOTSUP with the sentence when a
 * library is missing, broken or too old, or when the driver does not run.
 */
int cuda_libs_load(bool products, struct cuda_libs *ret, struct err *err);

/*
 * Load NVML alone, with what tells of a GPU's state. -ENOTSUP with the sentence
 * when it is missing, broken or too old; nothing is started.
 */
int nvml_load(struct nvml_calls *ret, struct err *err);

/* "CUDA_ERROR_OUT_OF_MEMORY 2 (out of memory)", in the driver's words. */
void cuda_words(const struct cuda_driver *driver, unsigned result, char ret[static 160]);
