/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gpu_state/gpu_look.h"

#include <limits.h>
#include <stdio.h>

#include "lib/base/clock.h"
#include "probes/accel/nvml_field.h"
#include "probes/accel/nvml_process.h"
#include "probes/accel/worker.h"
#include "probes/gpu_state/gpu_counter_table.h"

struct look {
	const struct nvml_calls *calls;
	struct worker *worker;
	struct nvml_device *device;
	struct gpu_reading *to;
	bool wide; /* which process lists: nvml_process.h */
};

#define NAME_OF(needed, result, member, symbol, parameters) .member = #symbol,
const struct nvml_names nvml_names = { .base = { CUDA_NVML_FUNCTIONS(NAME_OF) },
				       .health = { NVML_HEALTH_FUNCTIONS(NAME_OF) } };

bool gpu_took(const struct nvml_calls *calls, struct gpu_reading *to, const char *name,
	      unsigned result)
{
	if (result == NVML_OK)
		return true;
	if (to->result == NVML_OK && (result == NVML_GPU_IS_LOST || result == NVML_RESET_REQUIRED)) {
		to->result = result;
		to->at = name;
		(void)snprintf(to->error, sizeof(to->error), "%s", calls->base.error_string(result));
	}
	return false;
}

static bool is_over(const struct look *l)
{
	return l->to->result != NVML_OK;
}

/* Call a member of a table if the driver has it and the GPU still answers. */
#define ASK(l, table, member, ...)                               \
	(!is_over(l) && (l)->calls->table.member &&              \
	 (worker_step((l)->worker, nvml_names.table.member),     \
	  gpu_took((l)->calls, (l)->to, nvml_names.table.member, \
		   (l)->calls->table.member((l)->device, __VA_ARGS__))))

static void know(struct look *l, enum gpu_fact fact, uint64_t value)
{
	l->to->known[fact] = true;
	l->to->facts[fact] = value;
}

static bool took_field(struct look *l, const struct nvml_field *f)
{
	return gpu_took(l->calls, l->to, nvml_names.base.fields, f->result);
}

/* --- single values ------------------------------------------------------------------------ */

static void look_at_modes(struct look *l)
{
	unsigned now = 0, pending = 0;

	if (ASK(l, base, ecc, &now, &pending)) {
		know(l, FACT_ECC, now);
		know(l, FACT_ECC_PENDING, pending);
	}
	if (ASK(l, base, mig, &now, &pending)) {
		know(l, FACT_MIG, now);
		know(l, FACT_MIG_PENDING, pending);
	}
	if (ASK(l, health, persistence, &now))
		know(l, FACT_PERSISTENCE, now);
	if (ASK(l, health, compute_mode, &now))
		know(l, FACT_COMPUTE_MODE, now);
}

/* Firmware versions and the settings that firmware made. */
static void look_at_firmware(struct look *l)
{
	struct gpu_reading *to = l->to;
	struct nvml_bar1 bar1 = { 0 };
	unsigned on = 0, usual = 0;

	if (!ASK(l, health, vbios, to->vbios, sizeof(to->vbios)))
		to->vbios[0] = '\0';
	if (!ASK(l, health, inforom_version, to->inforom, sizeof(to->inforom)))
		to->inforom[0] = '\0';
	if (ASK(l, health, gsp_mode, &on, &usual))
		know(l, FACT_GSP, on);
	if (!ASK(l, health, gsp_version, to->gsp))
		to->gsp[0] = '\0';
	if (ASK(l, health, bar1, &bar1))
		know(l, FACT_BAR1_MIB, bar1.total >> 20);
}

/* Verify checksums in flash; asked last because it is the slowest. */
static void look_at_inforom(struct look *l)
{
	const char *name = nvml_names.health.inforom_check;
	unsigned result;

	if (is_over(l) || !l->calls->health.inforom_check)
		return;
	worker_step(l->worker, name);
	result = l->calls->health.inforom_check(l->device);
	if (gpu_took(l->calls, l->to, name, result) || result == NVML_INFOROM_CORRUPTED)
		know(l, FACT_INFOROM_CORRUPT, result != NVML_OK);
}

static void look_at_bus_and_power(struct look *l)
{
	struct nvml_utilization use = { 0 };
	unsigned long long reasons = 0;
	unsigned value = 0;

	if (ASK(l, health, pcie_speed, &value))
		know(l, FACT_PCIE_SPEED, value);
	if (ASK(l, health, pcie_speed_max, &value))
		know(l, FACT_PCIE_SPEED_MAX, value);
	if (ASK(l, health, pcie_width, &value))
		know(l, FACT_PCIE_WIDTH, value);
	if (ASK(l, health, pcie_width_max, &value))
		know(l, FACT_PCIE_WIDTH_MAX, value);
	if (ASK(l, health, utilization, &use))
		know(l, FACT_UTILIZATION, use.gpu);
	if (ASK(l, base, power_limit, &value))
		know(l, FACT_POWER_LIMIT, value);
	if (ASK(l, health, power_default, &value))
		know(l, FACT_POWER_DEFAULT, value);
	if (ASK(l, base, power, &value))
		know(l, FACT_POWER, value);
	/* Its name since driver 535, otherwise the older one. */
	if (ASK(l, health, event_reasons, &reasons) || ASK(l, base, reasons, &reasons))
		know(l, FACT_REASONS, reasons);
	if (ASK(l, health, pstate, &value))
		know(l, FACT_PSTATE, value);
}

/*
 * The margin to the slowdown threshold: newer drivers report it; older ones report the threshold.
 */
static void look_at_heat(struct look *l)
{
	struct nvml_margin margin = { .version = NVML_MARGIN_VERSION };
	struct nvml_field memory = { .id = NVML_FIELD_MEMORY_TEMPERATURE };
	unsigned now = 0, limit = 0;
	int left;

	if (ASK(l, base, fields, 1, &memory) && took_field(l, &memory))
		know(l, FACT_MEMORY_TEMPERATURE, nvml_field_number(&memory));
	if (ASK(l, base, threshold, NVML_THRESHOLD_MEMORY_MAX, &limit) && limit > 0)
		know(l, FACT_MEMORY_LIMIT, limit);
	if (!ASK(l, base, temperature, NVML_TEMPERATURE_GPU, &now))
		return;
	know(l, FACT_TEMPERATURE, now);
	if (ASK(l, health, margin, &margin))
		left = margin.celsius;
	else if (ASK(l, base, threshold, NVML_THRESHOLD_SLOWDOWN, &limit) && limit > 0)
		left = (int)limit - (int)now;
	else
		return;
	know(l, FACT_MARGIN, (uint64_t)MAX(left, 0));
	know(l, FACT_TOO_HOT, (uint64_t)MAX(-left, 0));
}

/* Errors of on-chip memory, and pending repairs. */
static void look_at_repairs(struct look *l)
{
	struct nvml_sram sram = { .version = NVML_SRAM_VERSION };
	struct nvml_spare_rows rows = { 0 };
	struct nvml_repair repair = { .version = NVML_REPAIR_VERSION };

	if (ASK(l, health, sram, &sram)) {
		know(l, FACT_SRAM_UNCORRECTED, sram.ever_parity + sram.ever_sec_ded);
		know(l, FACT_SRAM_BEYOND, sram.beyond != 0);
	}
	if (ASK(l, health, spare_rows, &rows))
		know(l, FACT_BANKS_WITHOUT_ROWS, rows.none);
	if (ASK(l, health, repair, &repair))
		know(l, FACT_REPAIR_PENDING, repair.channel_pending || repair.tpc_pending);
}

static void look_at_rows(struct look *l)
{
	unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;

	if (!ASK(l, health, remapped, &corrected, &uncorrected, &pending, &failed))
		return;
	know(l, FACT_ROWS_CORRECTED, corrected);
	know(l, FACT_ROWS_UNCORRECTED, uncorrected);
	know(l, FACT_ROWS_PENDING, pending);
	know(l, FACT_ROWS_FAILED, failed);
}

static void look_at_fabric(struct look *l)
{
	struct nvml_fabric fabric = { .version = NVML_FABRIC_VERSION };

	if (!ASK(l, health, fabric, &fabric))
		return;
	know(l, FACT_FABRIC, fabric.state);
	know(l, FACT_FABRIC_STATUS, fabric.status);
	know(l, FACT_FABRIC_HEALTH, fabric.health);
}

static void look_at_processes(struct look *l)
{
	struct nvml_wide_process processes[GPU_PROCESSES_MAX];
	unsigned n = GPU_PROCESSES_MAX, i;

	if (!ASK(l, base, processes, &n, &processes[0].process))
		return;
	l->to->has_processes = true;
	l->to->n_processes = MIN(n, (unsigned)GPU_PROCESSES_MAX);
	for (i = 0; i < l->to->n_processes; i++)
		l->to->pids[i] = nvml_process_pid(processes, l->wide, i);
}

/* --- counters ----------------------------------------------------------------------------- */

static void count(struct look *l, const struct gpu_counter_row *row, unsigned link, uint64_t value)
{
	struct gpu_reading *to = l->to;

	if (to->n_counters < GPU_COUNTERS_MAX)
		to->counters[to->n_counters++] =
			(struct gpu_counter){ .row = row, .link = link, .value = value };
}

/* Up to NVLink 4 there is also a call. */
static void count_of_link(struct look *l, const struct gpu_counter_row *row, unsigned link)
{
	static const struct {
		unsigned field, counter;
	} calls[] = {
		{ GPU_FIELD_LINK_REPLAY, NVML_LINK_REPLAY },
		{ GPU_FIELD_LINK_RECOVERY, NVML_LINK_RECOVERY },
		{ GPU_FIELD_LINK_CRC, NVML_LINK_CRC_FLIT },
	};
	unsigned long long value = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		if (row->field == calls[i].field &&
		    ASK(l, health, link_errors, link, calls[i].counter, &value))
			count(l, row, link, value);
	}
}

/* With drivers that do not know the field: through a separate call. */
static void count_by_call(struct look *l, const struct gpu_counter_row *row)
{
	unsigned long long errors = 0;
	unsigned replays = 0;

	if (row->field == GPU_FIELD_REPLAY && ASK(l, health, replays, &replays))
		count(l, row, 0, replays);
	else if (row->field == GPU_FIELD_ECC_CORRECTED &&
		 ASK(l, health, ecc_total, NVML_ECC_CORRECTED, NVML_ECC_VOLATILE, &errors))
		count(l, row, 0, errors);
	else if (row->field == GPU_FIELD_ECC_UNCORRECTED &&
		 ASK(l, health, ecc_total, NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE, &errors))
		count(l, row, 0, errors);
	else if (row->field == GPU_FIELD_ECC_UNCORRECTED_EVER &&
		 ASK(l, health, ecc_total, NVML_ECC_UNCORRECTED, NVML_ECC_AGGREGATE, &errors))
		count(l, row, 0, errors);
}

/* A sleeping link is slow, but that is no fault. */
static void take_speed(struct look *l, unsigned link, const struct nvml_field *speed,
		       const struct nvml_field *power)
{
	const bool sleeps = power->result == NVML_OK && nvml_field_number(power) != 0;

	if (l->to->active[link] && !sleeps && took_field(l, speed))
		l->to->link_mb_s[link] = (unsigned)MIN(nvml_field_number(speed), (uint64_t)UINT_MAX);
}

/* Read all rows of the GPU or of one of its links, and the other fields of a link. */
static void look_at_counters(struct look *l, bool per_link, unsigned link)
{
	enum { ROWS_MAX = GPU_COUNTERS_MAX / 8, SPEED = 0, POWER = 1, OTHERS };
	struct nvml_field fields[ROWS_MAX + OTHERS];
	const struct gpu_counter_row *rows[ROWS_MAX];
	unsigned n = 0, i;
	bool answered;

	for (i = 0; i < n_gpu_counter_rows && n < ROWS_MAX; i++) {
		if (gpu_counter_rows[i].per_link != per_link)
			continue;
		rows[n] = &gpu_counter_rows[i];
		fields[n] = (struct nvml_field){ .id = rows[n]->field, .scope = link };
		n++;
	}
	fields[n + SPEED] = (struct nvml_field){ .id = NVML_FIELD_LINK_SPEED, .scope = link };
	fields[n + POWER] = (struct nvml_field){ .id = NVML_FIELD_LINK_POWER, .scope = link };
	answered = ASK(l, base, fields, (int)(n + (per_link ? OTHERS : 0)), fields);
	if (answered && per_link)
		take_speed(l, link, &fields[n + SPEED], &fields[n + POWER]);
	for (i = 0; i < n; i++) {
		if (answered && took_field(l, &fields[i]))
			count(l, rows[i], link, nvml_field_number(&fields[i]));
		else if (per_link)
			count_of_link(l, rows[i], link);
		else
			count_by_call(l, rows[i]);
	}
}

static void look_at_recovery(struct look *l)
{
	struct nvml_field field = { .id = NVML_FIELD_RECOVERY };

	if (ASK(l, base, fields, 1, &field) && took_field(l, &field))
		know(l, FACT_RECOVERY, nvml_field_number(&field));
}

static void look_at_links(struct look *l)
{
	struct gpu_reading *to = l->to;
	unsigned i, active = 0, type = 0;

	for (i = 0; i < NVML_NVLINKS_MAX && ASK(l, base, nvlink, i, &active); i++) {
		to->active[i] = active != 0;
		to->n_active += active != 0;
		to->n_links = i + 1;
		look_at_counters(l, true, i);
		if (active && !to->known[FACT_SWITCHED] && ASK(l, base, nvlink_remote, i, &type))
			know(l, FACT_SWITCHED, type == NVML_REMOTE_SWITCH);
	}
}

static void look_at_c2c(struct look *l)
{
	enum { STATUS, SPEED, OF_LINK };
	struct nvml_field count = { .id = NVML_FIELD_C2C_COUNT }, fields[OF_LINK * GPU_C2C_MAX];
	struct gpu_reading *to = l->to;
	unsigned n, i;

	if (!ASK(l, base, fields, 1, &count) || !took_field(l, &count))
		return;
	to->knows_c2c = true;
	n = (unsigned)MIN(nvml_field_number(&count), (uint64_t)GPU_C2C_MAX);
	for (i = 0; i < n; i++) {
		fields[OF_LINK * i + STATUS] =
			(struct nvml_field){ .id = NVML_FIELD_C2C_STATUS, .scope = i };
		fields[OF_LINK * i + SPEED] =
			(struct nvml_field){ .id = NVML_FIELD_C2C_SPEED, .scope = i };
	}
	if (n > 0)
		to->knows_c2c = ASK(l, base, fields, (int)(OF_LINK * n), fields);
	for (i = 0; to->knows_c2c && i < n; i++) {
		const struct nvml_field *of = &fields[(size_t)OF_LINK * i];

		to->knows_c2c = to->knows_c2c && took_field(l, &of[STATUS]);
		to->c2c[i].active = nvml_field_number(&of[STATUS]) == 1;
		if (took_field(l, &of[SPEED]))
			to->c2c[i].mb_s =
				(unsigned)MIN(nvml_field_number(&of[SPEED]), (uint64_t)UINT_MAX);
		to->n_c2c = i + 1;
	}
}

/* --- identity --------------------------------------------------------------------------- */

static bool find_device(struct look *l)
{
	const uint64_t begun_us = clock_mono_us();
	unsigned result;

	worker_long_step(l->worker, nvml_names.health.by_index, GPU_START_US);
	result = l->calls->health.by_index(l->to->index, &l->device);
	l->to->start_us = clock_mono_us() - begun_us;
	if (result == NVML_OK)
		return true;
	l->device = NULL;
	l->to->result = result;
	l->to->at = nvml_names.health.by_index;
	(void)snprintf(l->to->error, sizeof(l->to->error), "%s",
		       l->calls->base.error_string(result));
	return false;
}

static void look_at_name(struct look *l)
{
	struct nvml_pci pci = { .id = 0 };
	char uuid[GPU_SUBJECT_SIZE - sizeof("gpu:")] = "";
	unsigned module = 0;

	if (ASK(l, health, pci, &pci)) {
		pci.address[sizeof(pci.address) - 1] = '\0';
		if (!pci_find_address(pci.address, l->to->pci))
			l->to->pci[0] = '\0';
		(void)snprintf(l->to->model, sizeof(l->to->model), "%04x:%04x", pci.id & 0xffff,
			       pci.id >> 16);
	}
	if (ASK(l, health, uuid, uuid, sizeof(uuid)))
		(void)snprintf(l->to->subject, sizeof(l->to->subject), "gpu:%s", uuid);
	if (!ASK(l, health, serial, l->to->serial, sizeof(l->to->serial)))
		l->to->serial[0] = '\0';
	if (!ASK(l, health, part_number, l->to->part_number, sizeof(l->to->part_number)))
		l->to->part_number[0] = '\0';
	if (ASK(l, health, module, &module))
		l->to->module = (int)(module & INT_MAX);
}

struct nvml_device *gpu_look(const struct nvml_calls *calls, const char *driver, struct worker *w,
			     struct gpu_reading *ret)
{
	struct look l = {
		.calls = calls, .worker = w, .to = ret, .wide = nvml_process_is_wide(driver)
	};

	if (!find_device(&l))
		return NULL;
	look_at_name(&l);
	look_at_recovery(&l);
	look_at_modes(&l);
	look_at_firmware(&l);
	look_at_rows(&l);
	look_at_repairs(&l);
	look_at_bus_and_power(&l);
	look_at_heat(&l);
	look_at_counters(&l, false, 0);
	look_at_fabric(&l);
	look_at_links(&l);
	look_at_c2c(&l);
	look_at_processes(&l);
	look_at_inforom(&l);
	return l.device;
}
