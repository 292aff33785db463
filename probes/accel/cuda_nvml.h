/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVML in a thread of its own: a sick GPU can hold its calls for ever. Each
 * call below answers within NVML_CALL_US, -ETIMEDOUT then and from then on.
 */
#pragma once

#include "probes/accel/accel.h"

struct cuda;
struct err;
struct nvml;

/*
 * NVML in a thread of its own: a sick GPU can hold its calls for ever. Each
 * call below answers within NVML_CALL_US, -ETIMEDOUT then and from then on.
 */
enum {
	NVML_CALL_US = 2000000,
	NVML_PROCESSES_MAX = 1024, /* of one GPU; NVML tells of none where there are more */
};

/*
 * What is asked: each answer is a question to the firmware of a GPU, of which there are a hundred,
 * and many a second while it is measured. Whether it is lost is always asked.
 */
enum nvml_what {
	NVML_ASK_NUMBERS = 1, /* clocks, power, heat */
	NVML_ASK_LINKS = 2,   /* asked again after some seconds only */
	NVML_ASK_MODES = 4,   /* ECC, MIG */
	NVML_ASK_USERS = 8,   /* processes */
	NVML_ASK_MEMORY = 16, /* heat of the memory; asked again after a second only */
};

/* What NVML says of one GPU; what was not asked is unknown. */
struct nvml_state {
	struct accel_condition condition;
	double clock_max_hz, power_limit_w; /* NAN unknown */
	int ecc, mig;			    /* 0 off, 1 on, -1 unknown */
	bool lost;			    /* it fell off the bus */
	unsigned n_pids;
	unsigned pids[NVML_PROCESSES_MAX]; /* compute processes, ours among them; no two the same */
	bool knows_clients;		   /* those of MPS are among them if there are any */
};

/* What a GPU is, which does not change while it is there; what NVML does not tell is false or 0. */
struct nvml_facts {
	bool cc;   /* confidential computing: what leaves it is encrypted, RNICs do not reach it */
	bool vgpu; /* a guest's part of a GPU that others share */
	bool c2c;  /* NVLink-C2C joins it to its processor */
	unsigned memory_limit_c; /* as of accel_device_info */
};

/* Start it for the GPUs of `c`. -ETIMEDOUT, -ENOTSUP. */
int cuda_nvml_new(const struct cuda *c, struct nvml **ret, struct err *err);
void cuda_nvml_free(struct nvml *n);
/* "580.65.06"; "" unknown. Borrowed. */
const char *cuda_nvml_driver(const struct nvml *n);
/* All unknown without NVML (`n` is NULL). */
struct nvml_facts cuda_nvml_facts(const struct nvml *n, unsigned device);
int cuda_nvml_look(struct nvml *n, unsigned device, unsigned what, struct nvml_state *ret,
		   struct err *err);
