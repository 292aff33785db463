/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the libraries of the GPU driver and CUDA at run time, so that the program also runs on a
 * host without them, and tests can substitute fakes through LD_LIBRARY_PATH.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/err.h"
#include "probes/accel/cuda_abi.h"
#include "probes/accel/nvml_abi.h"

/* Never unloaded: the libraries' threads may outlive their users. */
struct cuda_libs {
	struct cuda_driver driver;
	struct cuda_lt lt; /* empty without products */
	struct cuda_nvml nvml;
	bool has_nvml;
	int driver_version; /* 1000 major + 10 minor, of the CUDA version the driver supports */
	char nvml_why[ERR_MSG_SIZE]; /* why NVML is not available */
};

/*
 * Load and initialise libcuda; then, if `products` are needed, the newest cuBLASLt that this driver
 * supports; and NVML if available. -ENOTSUP with the reason if a library is missing, broken or too
 * old, or if the driver does not start.
 */
int cuda_libs_load(bool products, struct cuda_libs *ret, struct err *err);

/*
 * Load only NVML, with the functions for GPU state. -ENOTSUP with the reason if it is missing,
 * broken or too old. Does not initialise it.
 */
int nvml_load(struct nvml_calls *ret, struct err *err);

/* "CUDA_ERROR_OUT_OF_MEMORY 2 (out of memory)", as the driver words it. */
void cuda_words(const struct cuda_driver *driver, unsigned result, char ret[static 160]);
