/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVML says of every GPU, read once, all of them side by side, each in a worker: a call may
 * hold for ever when a GPU is sick. A call that takes more than GPU_CALL_US is given up, and so is
 * the look at its GPU, unless it comes back before the end: then it was slow.
 *
 * The first call about a GPU is another matter: where persistence mode is off and nobody else has
 * the GPU open, the driver starts it then (NVML API reference, nvmlDeviceGetHandleByIndex_v2: it
 * "may initialize" GPUs), 1.5 s to 4 s with its firmware, and several one after the other as far as
 * they need the same lock. It may take GPU_START_US; a GPU that has not started by then, or when
 * the time is up, is not stuck for that.
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
	GPU_SLOW_START_US = 20000000, /* longer than eight that start one after the other */
	GPU_SLOW_START_TIMES = 3,     /* of the median of all, and that */
	GPU_LATE_US = 3000000,	      /* what was given up is waited for so long again */
	GPU_MAX = 64,
	GPU_SUBJECT_SIZE = 80,
	GPU_COUNTERS_MAX = 512,	  /* rows of the table, and of each NVLink */
	GPU_PROCESSES_MAX = 1024, /* NVML tells of none where there are more */
	GPU_EVENTS_MAX = 64,
	GPU_C2C_MAX = 32, /* GH200 has ten */
};

/* Single numbers; what the driver does not say is not known. */
enum gpu_fact {
	FACT_ECC, /* 0 off, 1 on; after the next reset */
	FACT_ECC_PENDING,
	FACT_MIG, /* likewise */
	FACT_MIG_PENDING,
	FACT_PERSISTENCE,    /* 0 off, 1 on */
	FACT_ROWS_CORRECTED, /* remapped for errors of that kind */
	FACT_ROWS_UNCORRECTED,
	FACT_ROWS_PENDING, /* 0 or 1 */
	FACT_ROWS_FAILED,
	FACT_PCIE_SPEED, /* generation, now and at most */
	FACT_PCIE_SPEED_MAX,
	FACT_PCIE_WIDTH, /* lanes likewise */
	FACT_PCIE_WIDTH_MAX,
	FACT_UTILIZATION, /* percent of the last sample period */
	FACT_POWER_LIMIT, /* mW, enforced */
	FACT_POWER_DEFAULT,
	FACT_POWER,		 /* mW, drawn now */
	FACT_REASONS,		 /* NVML_REASON_... */
	FACT_PSTATE,		 /* performance state; 0: the fastest */
	FACT_TEMPERATURE,	 /* C */
	FACT_MARGIN,		 /* C it is below the slowdown; 0: none left */
	FACT_TOO_HOT,		 /* C it is beyond that */
	FACT_MEMORY_TEMPERATURE, /* C of its HBM */
	FACT_MEMORY_LIMIT,	 /* C from where that slows it down */
	FACT_SRAM_UNCORRECTED,	 /* errors of memory on the chip, ever */
	FACT_SRAM_BEYOND,	 /* 0 or 1: beyond the threshold of NVIDIA's diagnostic */
	FACT_BANKS_WITHOUT_ROWS, /* banks of memory without a spare row left */
	FACT_REPAIR_PENDING,	 /* 0 or 1: a repair of channel or TPC waits for a reset */
	FACT_RECOVERY,		 /* enum nvml_recovery */
	FACT_COMPUTE_MODE,	 /* enum nvml_compute */
	FACT_BAR1_MIB,		 /* of its memory that the bus can see */
	FACT_GSP,		 /* 0 or 1: it runs the driver's firmware */
	FACT_INFOROM_CORRUPT,	 /* 0 or 1 */
	FACT_SWITCHED,		 /* 0 or 1: its NVLinks go to switches, as on a baseboard */
	FACT_FABRIC,		 /* enum nvml_fabric_state */
	FACT_FABRIC_STATUS,
	FACT_FABRIC_HEALTH,
	FACTS,
};

struct gpu_counter {
	const struct gpu_counter_row *row;
	unsigned link; /* of a row that is per link */
	uint64_t value;
};

/* NVLink-C2C, to the processor beside it. */
struct gpu_c2c {
	bool active;
	unsigned mb_s; /* 0: not known */
};

struct gpu_reading {
	unsigned index;			/* NVML's: by the PCI address */
	char subject[GPU_SUBJECT_SIZE]; /* "gpu:GPU-..."; "" when its UUID was not told */
	char pci[PCI_ADDRESS_SIZE];	/* as sysfs; "" likewise */
	char model[16];			/* "10de:2330" */
	char serial[32];		/* of the board; "" unknown */
	char part_number[48];		/* likewise */
	char vbios[32], inforom[32];	/* versions; "" unknown */
	char gsp[NVML_GSP_VERSION_SIZE];
	int module;	   /* its place on the baseboard; -1 unknown */
	unsigned result;   /* NVML_OK, or what ended the look at it */
	char error[80];	   /* the same in NVML's words */
	const char *at;	   /* the function of NVML that told it, or never came back */
	bool stuck;	   /* that one */
	bool cut;	   /* of stuck: it was not waited for its 2 s, the time was up */
	bool starting;	   /* of stuck: it is the first call, which starts the GPU */
	const char *slow;  /* not stuck: a function that took longer than GPU_CALL_US, or NULL */
	bool skipped;	   /* not asked: there was no thread for it */
	uint64_t start_us; /* that the first call took, or had taken when it was given up */
	bool known[FACTS];
	uint64_t facts[FACTS];
	unsigned n_links, n_active;
	bool active[NVML_NVLINKS_MAX];	      /* of the first n_links */
	unsigned link_mb_s[NVML_NVLINKS_MAX]; /* each way, of one that is up and awake; 0: not known */
	bool knows_c2c;			      /* the driver told how many there are: */
	unsigned n_c2c;
	struct gpu_c2c c2c[GPU_C2C_MAX];
	struct gpu_counter counters[GPU_COUNTERS_MAX];
	size_t n_counters;
	bool has_processes;
	unsigned n_processes;
	unsigned pids[GPU_PROCESSES_MAX];
};

/* An Xid that came while we looked. */
struct gpu_event {
	unsigned gpu; /* of `all` */
	unsigned xid;
};

struct gpus {
	struct gpu_reading *all; /* owned */
	size_t n;
	const char *stuck_at; /* a function about no GPU that never came back, or NULL */
	bool unnamed_lost;    /* an event says that a GPU is lost, and not which */
	char driver[80];      /* its version; "" unknown */
	bool knows_cc;	      /* the driver told: */
	struct nvml_cc cc;    /* confidential computing */
	bool cut;	      /* that call was not waited for its 2 s: the time was up */
	bool stuck;	      /* any: end the process without waiting (accel_leave_at_once()) */
	struct gpu_event events[GPU_EVENTS_MAX];
	size_t n_events;
};

/*
 * Read all; none is waited for beyond the monotonic `last_us`, however quick each of its answers
 * is. Where GPUs are `started` already (persistence mode), the first call is as the others.
 * -ENODEV without a driver, -EIO when NVML does not start.
 */
int gpus_read(bool started, uint64_t last_us, struct gpus *ret, struct err *err);
void gpus_release(struct gpus *gpus);
