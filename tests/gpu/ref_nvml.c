/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times each NVML call, cold and warm, and prints its result: a line for each
 * call on GPU 0 in each of ROUNDS rounds. The first call that touches a GPU pays
 * for its initialization.
 */
#include "tests/gpu/ref.h"

enum { ROUNDS = 4, PROCESSES_MAX = 64, FIELDS_MAX = 280, FIELDS_AT_ONCE = 40 };

static struct nvml_calls nvml;
static int round_now;

static void tell(const char *call, double begin, unsigned result, long long value)
{
	(void)printf("{\"round\":%d,\"call\":\"%s\",\"seconds\":%.6f,\"result\":%u,"
		     "\"value\":%lld}\n",
		     round_now, call, ref_now() - begin, result, value);
}

/* One call of a table, and a number from its result. */
#define ASK(table, member, value, ...)                                                \
	do {                                                                          \
		if (nvml.table.member) {                                              \
			double begin_ = ref_now();                                    \
			unsigned result_ = nvml.table.member(__VA_ARGS__);            \
			tell(#member, begin_, result_, (long long)(value));           \
		} else {                                                              \
			(void)printf("{\"call\":\"%s\",\"absent\":true}\n", #member); \
		}                                                                     \
	} while (0)

static void ask_base(struct nvml_device *d)
{
	struct nvml_process processes[PROCESSES_MAX];
	unsigned a = 0, b = 0, n = PROCESSES_MAX;
	unsigned long long bits = 0;
	struct nvml_cc cc = { 0 };
	struct nvml_c2c_mode c2c = { 0 };
	char text[96] = "";

	ASK(base, driver_version, strtol(text, NULL, 10), text, sizeof(text));
	ASK(base, clock, a, d, NVML_CLOCK_SM, &a);
	ASK(base, clock_max, a, d, NVML_CLOCK_SM, &a);
	ASK(base, reasons, bits, d, &bits);
	ASK(base, power, a, d, &a);
	ASK(base, power_limit, a, d, &a);
	ASK(base, temperature, a, d, NVML_TEMPERATURE_GPU, &a);
	ASK(base, threshold, a, d, NVML_THRESHOLD_SLOWDOWN, &a);
	ASK(base, nvlink, a, d, 0, &a);
	ASK(base, nvlink_remote, a, d, 0, &a);
	ASK(base, ecc, a, d, &a, &b);
	ASK(base, mig, a, d, &a, &b);
	ASK(base, virtual_mode, a, d, &a);
	ASK(base, c2c, c2c.enabled, d, &c2c);
	ASK(base, cc, cc.on, &cc);
	ASK(base, processes, n, d, &n, processes);
	n = PROCESSES_MAX;
	ASK(base, mps_clients, n, d, &n, processes);
}

static void ask_health(struct nvml_device *d)
{
	struct nvml_fabric fabric = { .version = NVML_FABRIC_VERSION };
	struct nvml_margin margin = { .version = NVML_MARGIN_VERSION };
	struct nvml_repair repair = { .version = NVML_REPAIR_VERSION };
	struct nvml_sram sram = { .version = NVML_SRAM_VERSION };
	struct nvml_spare_rows rows = { 0 };
	struct nvml_utilization use = { 0 };
	unsigned long long count = 0;
	struct nvml_pci pci = { 0 };
	unsigned a = 0, b = 0, pending = 0, failed = 0;
	char text[96] = "";

	ASK(health, uuid, 0, d, text, sizeof(text));
	ASK(health, pci, pci.id, d, &pci);
	ASK(health, ecc_total, count, d, NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE, &count);
	ASK(health, remapped, b, d, &a, &b, &pending, &failed);
	ASK(health, replays, a, d, &a);
	ASK(health, pcie_speed, a, d, &a);
	ASK(health, pcie_speed_max, a, d, &a);
	ASK(health, pcie_width, a, d, &a);
	ASK(health, pcie_width_max, a, d, &a);
	ASK(health, utilization, use.gpu, d, &use);
	ASK(health, power_default, a, d, &a);
	ASK(health, fabric, fabric.state, d, &fabric);
	ASK(health, event_reasons, count, d, &count);
	ASK(health, pstate, a, d, &a);
	ASK(health, serial, 0, d, text, sizeof(text));
	ASK(health, margin, margin.celsius, d, &margin);
	ASK(health, sram, sram.beyond, d, &sram);
	ASK(health, spare_rows, rows.max, d, &rows);
	ASK(health, repair, repair.channel_pending, d, &repair);
	ASK(health, link_errors, count, d, 0, NVML_LINK_REPLAY, &count);
}

/* Queries all possible fields in batches: which ones this driver and GPU support, and their values. */
static void ask_fields(struct nvml_device *d)
{
	struct nvml_field fields[FIELDS_AT_ONCE];
	unsigned id, i;

	for (id = 1; nvml.base.fields && id < FIELDS_MAX; id += FIELDS_AT_ONCE) {
		memset(fields, 0, sizeof(fields));
		for (i = 0; i < FIELDS_AT_ONCE; i++)
			fields[i].id = id + i;
		ASK(base, fields, id, d, FIELDS_AT_ONCE, fields);
		for (i = 0; i < FIELDS_AT_ONCE; i++) {
			if (fields[i].result == NVML_OK)
				(void)printf("{\"field\":%u,\"type\":%u,\"value\":%llu}\n",
					     fields[i].id, fields[i].type, fields[i].value.u64);
		}
	}
}

int main(void)
{
	struct nvml_device *device = NULL;
	unsigned n = 0;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	ref_load_nvml(&nvml);
	for (round_now = 0; round_now < ROUNDS; round_now++) {
		double begin = ref_now();

		/* All but the last two rounds re-initialize: without persistence the GPU starts
		 * again. */
		ASK(base, init, 0);
		ASK(health, count, n, &n);
		ASK(health, by_index, 0, 0, &device);
		if (!device)
			ref_die("NVML shows no GPU 0");
		ask_base(device);
		ask_health(device);
		if (round_now == 0)
			ask_fields(device);
		if (round_now < ROUNDS - 2)
			ASK(base, shutdown, 0);
		(void)printf("{\"round\":%d,\"call\":\"all\",\"seconds\":%.6f}\n", round_now,
			     ref_now() - begin);
	}
	return 0;
}
