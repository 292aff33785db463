/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gpu_state/gpu_counter_table.h"

static const char nvml[] = "NVML API reference";
static const char dcgm[] = "thresholds of DCGM diagnostics (80 replays, 100 CRC errors)";
static const char ours[] = "a threshold of Assay's own";

static const char throttled[] = "the GPU ran slower than it could";
static const char hot[] = "the GPU was too hot: check cooling and airflow";
static const char bus[] = "the PCIe link had to retransmit: reseat the GPU, check riser and slot";
static const char link_lost[] = "the link was lost briefly: check cable, bridge or baseboard";
static const char link_bits[] = "the link has bit errors: check cable, bridge or baseboard";

#define ECC(name_, field_, finding_, words_, source_)                                           \
	{                                                                                       \
		.check = "gpu.ecc_errors", .name = (name_), .field = (field_), .of_boot = true, \
		.finding = (finding_), .words = (words_), .source = (source_)                   \
	}
#define THROTTLE(name_, field_, finding_, words_)                                             \
	{                                                                                     \
		.check = "gpu.throttle", .name = (name_), .field = (field_), .is_time = true, \
		.finding = (finding_), .limit = 0.01, .words = (words_), .source = ours       \
	}
#define PCIE(name_, field_, finding_, limit_, source_)                                      \
	{                                                                                   \
		.check = "gpu.pcie_errors", .name = (name_), .field = (field_),             \
		.finding = (finding_), .limit = (limit_), .words = bus, .source = (source_) \
	}
#define LINK(name_, field_, finding_, limit_, words_, source_)                                 \
	{                                                                                      \
		.check = "gpu.nvlink_errors", .name = (name_), .field = (field_),              \
		.per_link = true, .finding = (finding_), .limit = (limit_), .words = (words_), \
		.source = (source_)                                                            \
	}

/* Rows with FINDING_NOTE are reported but never a finding by themselves. */
const struct gpu_counter_row gpu_counter_rows[] = {
	ECC("uncorrected", GPU_FIELD_ECC_UNCORRECTED, FINDING_FAIL,
	    "GPU memory lost data: the job that used it is wrong or dead", nvml),
	{ .check = "gpu.ecc_errors",
	  .name = "uncorrected-before",
	  .field = GPU_FIELD_ECC_UNCORRECTED_EVER,
	  .ever_of = GPU_FIELD_ECC_UNCORRECTED,
	  .finding = FINDING_FAIL,
	  .words = "GPU memory lost data, and the driver has restarted its counters since: at a "
		   "reboot, or when the program that hit it left the GPU",
	  .source = nvml },
	ECC("corrected", GPU_FIELD_ECC_CORRECTED, FINDING_NOTE,
	    "errors in GPU memory were corrected", nvml),
	THROTTLE("hw-thermal", 270, FINDING_WARN, hot),
	THROTTLE("power-brake", 271, FINDING_WARN,
		 "the power supply made the GPU slow down: check power feeds and limits"),
	{ .check = "gpu.throttle",
	  .name = "sw-thermal",
	  .field = 269,
	  .is_time = true,
	  .finding = FINDING_WARN,
	  .limit = 0.01,
	  .times = 3, /* in a hot aisle, memory near its limit affects several GPUs */
	  .words = "the GPU was too hot, and the others of this host were not: check its cooling",
	  .source = ours },
	THROTTLE("sw-power-cap", 74, FINDING_NOTE,
		 "the GPU was held to its power limit, which is normal under load"),
	THROTTLE("sync-boost", 76, FINDING_NOTE, throttled),
	THROTTLE("board-limit", 77, FINDING_NOTE, throttled),
	THROTTLE("reliability", 79, FINDING_NOTE, throttled),
	PCIE("replay", GPU_FIELD_REPLAY, FINDING_WARN, 80, dcgm),
	PCIE("replay-rollover", 95, FINDING_WARN, 0, nvml),
	PCIE("fatal", 180, FINDING_WARN, 0, nvml),
	PCIE("non-fatal", 179, FINDING_NOTE, 0, nvml),
	PCIE("recovery", 169, FINDING_NOTE, 0, nvml),
	PCIE("correctable", 173, FINDING_NOTE, 0, nvml),
	PCIE("nak-received", 174, FINDING_NOTE, 0, nvml),
	PCIE("nak-sent", 177, FINDING_NOTE, 0, nvml),
	PCIE("receiver", 175, FINDING_NOTE, 0, nvml),
	PCIE("bad-tlp", 176, FINDING_NOTE, 0, nvml),
	PCIE("bad-dllp", 178, FINDING_NOTE, 0, nvml),
	PCIE("lcrc", 182, FINDING_NOTE, 0, nvml),
	PCIE("lane", 183, FINDING_NOTE, 0, nvml),
	PCIE("unsupported-request", 181, FINDING_NOTE, 0, nvml),
	/* Up to NVLink 4. */
	LINK("recovery", GPU_FIELD_LINK_RECOVERY, FINDING_WARN, 0, link_lost, ours),
	LINK("crc", GPU_FIELD_LINK_CRC, FINDING_WARN, 100, link_bits, dcgm),
	LINK("replay", GPU_FIELD_LINK_REPLAY, FINDING_WARN, 100, link_bits, ours),
	/* From NVLink 5 on. */
	LINK("recovery-failed", 214, FINDING_WARN, 0, link_lost, ours),
	LINK("recovery-succeeded", 213, FINDING_INFO, 0, link_lost, ours),
	LINK("integrity", 211, FINDING_WARN, 0, link_bits, ours),
	LINK("overrun", 207, FINDING_WARN, 0, link_bits, ours),
	LINK("malformed", 206, FINDING_WARN, 100, link_bits, ours),
	LINK("received", 208, FINDING_WARN, 100, link_bits, ours),
	/* No product has a published limit for these. */
	LINK("effective", 219, FINDING_NOTE, 0, "errors remained after correction", nvml),
	LINK("symbol", 221, FINDING_NOTE, 0, "symbols were received wrong", nvml),
};
const size_t n_gpu_counter_rows = ARRAY_SIZE(gpu_counter_rows);
