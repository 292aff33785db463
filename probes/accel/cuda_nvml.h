/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVML in a thread of its own, because a faulty GPU can make its calls hang. Each call below
 * returns within NVML_CALL_US, with -ETIMEDOUT if NVML hangs, and immediately after that.
 */
#pragma once

#include "probes/accel/accel.h"

struct cuda;
struct err;
struct nvml;

enum {
	NVML_CALL_US = 2000000,
	NVML_PROCESSES_MAX = 1024, /* per GPU; with more processes NVML lists none */
};

/*
 * What to query. Every value is a query to a GPU's firmware; there are about a hundred of them,
 * many times per second during a measurement. Whether the GPU is lost is always checked.
 */
enum nvml_what {
	NVML_ASK_NUMBERS = 1, /* clocks, power, temperatures */
	NVML_ASK_LINKS = 2,   /* queried again only after some seconds */
	NVML_ASK_MODES = 4,   /* ECC, MIG */
	NVML_ASK_USERS = 8,   /* processes */
	NVML_ASK_MEMORY = 16, /* memory temperature; queried again only after a second */
};

/* What NVML reports about one GPU; what was not queried is unknown. */
struct nvml_state {
	struct accel_condition condition;
	double clock_max_hz, power_limit_w; /* NAN: unknown */
	int ecc, mig;			    /* 0 off, 1 on, -1 unknown */
	bool lost;			    /* it fell off the bus */
	unsigned n_pids;
	unsigned pids[NVML_PROCESSES_MAX]; /* compute processes, including ours; no duplicates */
	bool knows_clients;		   /* they include MPS clients, if any */
};

/* Constant properties of a GPU; false or 0 if NVML does not report them. */
struct nvml_facts {
	bool cc;   /* confidential computing: data leaving it is encrypted, RNICs have no access */
	bool vgpu; /* a guest's share of a GPU */
	bool c2c;  /* connected to its processor by NVLink-C2C */
	unsigned memory_limit_c; /* as in accel_device_info */
};

/* Start it for the GPUs of `c`. -ETIMEDOUT, -ENOTSUP. */
int cuda_nvml_new(const struct cuda *c, struct nvml **ret, struct err *err);
void cuda_nvml_free(struct nvml *n);
/* "580.65.06"; "": unknown. Borrowed. */
const char *cuda_nvml_driver(const struct nvml *n);
/* Everything is unknown without NVML (`n` is NULL). */
struct nvml_facts cuda_nvml_facts(const struct nvml *n, unsigned device);
int cuda_nvml_look(struct nvml *n, unsigned device, unsigned what, struct nvml_state *ret,
		   struct err *err);
