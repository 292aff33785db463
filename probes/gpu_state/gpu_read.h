/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads every GPU through NVML once, all in parallel, each in a worker, because a call may hang if
 * a GPU is faulty. A call that takes longer than GPU_CALL_US is given up, and with it the rest of
 * that GPU, unless the call returns before the end: then it was only slow.
 *
 * The first call for a GPU is different. If persistence mode is off and nobody else has the GPU
 * open, the driver starts it then (NVML API reference, nvmlDeviceGetHandleByIndex_v2: it "may
 * initialize" GPUs). That takes 1.5 s to 4 s with its firmware, and several GPUs partly wait for
 * each other because of a common lock. This call may take GPU_START_US; a GPU that has not started
 * by then, or when time is up, does not count as stuck.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/sys/pci_address.h"
#include "probes/accel/nvml_abi.h"

struct err;
struct gpu_counter_row;

enum {
	GPU_CALL_US = 2000000,
	GPU_START_US = 30000000,
	GPU_SLOW_START_US = 20000000, /* more than eight that start one after the other */
	GPU_SLOW_START_TIMES = 3,     /* times the median of all GPUs, in addition */
	GPU_LATE_US = 3000000,	      /* extra wait for calls that were given up */
	GPU_MAX = 64,
	GPU_SUBJECT_SIZE = 80,
	GPU_COUNTERS_MAX = 512,	  /* rows of the table, for a GPU and each NVLink */
	GPU_PROCESSES_MAX = 1024, /* with more processes NVML lists none */
	GPU_EVENTS_MAX = 64,
	GPU_C2C_MAX = 32, /* GH200 has ten */
};

/* Single values. Those that the driver does not report are unknown. */
enum gpu_fact {
	FACT_ECC, /* 0 off, 1 on; the next is for after a reset */
	FACT_ECC_PENDING,
	FACT_MIG, /* the same */
	FACT_MIG_PENDING,
	FACT_PERSISTENCE,    /* 0 off, 1 on */
	FACT_ROWS_CORRECTED, /* remapped because of such errors */
	FACT_ROWS_UNCORRECTED,
	FACT_ROWS_PENDING, /* 0 or 1 */
	FACT_ROWS_FAILED,
	FACT_PCIE_SPEED, /* generation; current and maximum */
	FACT_PCIE_SPEED_MAX,
	FACT_PCIE_WIDTH, /* lanes, the same */
	FACT_PCIE_WIDTH_MAX,
	FACT_UTILIZATION, /* percent, during the last sampling period */
	FACT_POWER_LIMIT, /* mW, as enforced */
	FACT_POWER_DEFAULT,
	FACT_POWER,		 /* mW, current draw */
	FACT_REASONS,		 /* NVML_REASON_... */
	FACT_PSTATE,		 /* performance state; 0 is the fastest */
	FACT_TEMPERATURE,	 /* C */
	FACT_MARGIN,		 /* C below the slowdown threshold; 0: none left */
	FACT_TOO_HOT,		 /* C above it */
	FACT_MEMORY_TEMPERATURE, /* C, HBM */
	FACT_MEMORY_LIMIT,	 /* C at which HBM slows the GPU down */
	FACT_SRAM_UNCORRECTED,	 /* on-chip memory errors, lifetime */
	FACT_SRAM_BEYOND,	 /* 0 or 1: above the threshold of NVIDIA's diagnostic */
	FACT_BANKS_WITHOUT_ROWS, /* memory banks with no spare row left */
	FACT_REPAIR_PENDING,	 /* 0 or 1: a channel or TPC repair waits for a reset */
	FACT_RECOVERY,		 /* enum nvml_recovery */
	FACT_COMPUTE_MODE,	 /* enum nvml_compute */
	FACT_BAR1_MIB,		 /* part of its memory visible on the bus */
	FACT_GSP,		 /* 0 or 1: GSP firmware is in use */
	FACT_INFOROM_CORRUPT,	 /* 0 or 1 */
	FACT_SWITCHED,		 /* 0 or 1: its NVLinks go to switches, as on a baseboard */
	FACT_FABRIC,		 /* enum nvml_fabric_state */
	FACT_FABRIC_STATUS,
	FACT_FABRIC_HEALTH,
	FACTS,
};

struct gpu_counter {
	const struct gpu_counter_row *row;
	unsigned link; /* for rows per link */
	uint64_t value;
};

/* NVLink-C2C, to the adjacent processor. */
struct gpu_c2c {
	bool active;
	unsigned mb_s; /* 0: unknown */
};

struct gpu_reading {
	unsigned index;			/* NVML's: in order of PCI address */
	char subject[GPU_SUBJECT_SIZE]; /* "gpu:GPU-..."; "" if its UUID is unknown */
	char pci[PCI_ADDRESS_SIZE];	/* as in sysfs; "" if unknown */
	char model[16];			/* "10de:2330" */
	char serial[32];		/* of the board; "": unknown */
	char part_number[48];		/* the same */
	char vbios[32], inforom[32];	/* versions; "": unknown */
	char gsp[NVML_GSP_VERSION_SIZE];
	int module;	   /* position on the baseboard; -1: unknown */
	unsigned result;   /* NVML_OK, or the error that ended the reading */
	char error[80];	   /* that error as NVML words it */
	const char *at;	   /* the NVML function that failed or hung */
	bool stuck;	   /* it hung */
	bool cut;	   /* if stuck: time was up before its 2 s */
	bool starting;	   /* if stuck: in the first call, which starts the GPU */
	const char *slow;  /* if not stuck: a function that took over GPU_CALL_US, or NULL */
	bool skipped;	   /* not read: no thread could be created */
	uint64_t start_us; /* duration of the first call, so far if given up */
	bool known[FACTS];
	uint64_t facts[FACTS];
	unsigned n_links, n_active;
	bool active[NVML_NVLINKS_MAX];	      /* the first n_links */
	unsigned link_mb_s[NVML_NVLINKS_MAX]; /* each way, if up and awake; 0: unknown */
	bool knows_c2c;			      /* the driver reports their number: */
	unsigned n_c2c;
	struct gpu_c2c c2c[GPU_C2C_MAX];
	struct gpu_counter counters[GPU_COUNTERS_MAX];
	size_t n_counters;
	bool has_processes;
	unsigned n_processes;
	unsigned pids[GPU_PROCESSES_MAX];
};

/* An Xid received while reading. */
struct gpu_event {
	unsigned gpu; /* index in `all` */
	unsigned xid;
};

struct gpus {
	struct gpu_reading *all; /* owned */
	size_t n;
	const char *stuck_at; /* a function not about a GPU that hung, or NULL */
	bool unnamed_lost;    /* an event reports a lost GPU without naming it */
	char driver[80];      /* version; "": unknown */
	bool knows_cc;	      /* `cc` is known */
	struct nvml_cc cc;    /* confidential computing */
	bool cut;	      /* that call was cut short because time was up */
	bool stuck;	      /* some call hangs: exit without waiting (accel_leave_at_once()) */
	struct gpu_event events[GPU_EVENTS_MAX];
	size_t n_events;
};

/*
 * Read all GPUs; none is waited for beyond the monotonic `last_us`, even if each call is quick. If
 * GPUs are already `started` (persistence mode), the first call is like any other. -ENODEV without
 * a driver, -EIO if NVML cannot be initialised.
 */
int gpus_read(bool started, uint64_t last_us, struct gpus *ret, struct err *err);
void gpus_release(struct gpus *gpus);
