/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a GPU reports about its memory, bus, power, modes and processes, with one rule per check.
 * What the driver does not report has no sample.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/sys/sysfs.h"
#include "probes/accel/accel.h"
#include "probes/gpu_state/gpu_state.h"

enum {
	ROWS_MANY = 512, /* uncorrectable remaps at which Azure removes a host */
	WORDS_SIZE = 32,
	NAMES_MAX = 512,
	PROCESSES_TOLD = 8,
	MEMORY_NEAR_C = 10,
};

static bool knows(const struct gpu_reading *gpu, enum gpu_fact fact)
{
	return gpu->known[fact];
}

static double number(const struct gpu_reading *gpu, enum gpu_fact fact)
{
	return (double)gpu->facts[fact];
}

/* --- memory ----------------------------------------------------------------------------- */

static int tell_ecc(struct gpu_state *state, const struct gpu_reading *gpu)
{
	static const char *const modes[] = { "off", "on" };
	const bool on = gpu->facts[FACT_ECC] != 0;
	struct gpu_words words = { .check = "gpu.ecc_mode", .value = on, .setting = modes[on] };

	if (!knows(gpu, FACT_ECC))
		return 0;
	if (gpu->facts[FACT_ECC_PENDING] != gpu->facts[FACT_ECC]) {
		words.code = "ecc-pending";
		return gpu_tell(state, gpu->subject, &words, FINDING_INFO,
				"ECC is %s, but will not be after the next reset", modes[on]);
	}
	words.code = "ecc-off";
	if (!on)
		return gpu_tell(state, gpu->subject, &words, FINDING_INFO,
				"ECC is off: memory errors go unnoticed");
	return gpu_tell(state, gpu->subject, &words, FINDING_GOOD, "ECC is on");
}

static int tell_rows(struct gpu_state *state, const struct gpu_reading *gpu)
{
	const uint64_t corrected = gpu->facts[FACT_ROWS_CORRECTED];
	const uint64_t uncorrected = gpu->facts[FACT_ROWS_UNCORRECTED];
	struct gpu_words words = { .check = "gpu.remapped_rows",
				   .value = (double)(corrected + uncorrected) };

	if (!knows(gpu, FACT_ROWS_FAILED))
		return 0;
	if (gpu->facts[FACT_ROWS_FAILED]) {
		words.code = "remap-failed";
		return gpu_tell(state, gpu->subject, &words, FINDING_FATAL,
				"a memory row could not be replaced: replace the GPU");
	}
	if (gpu->facts[FACT_ROWS_PENDING]) {
		words.code = "remap-pending";
		return gpu_tell(
			state, gpu->subject, &words, FINDING_WARN,
			"memory rows are waiting to be replaced: reset the GPU when it is idle");
	}
	words.code = "no-spare-rows";
	if (gpu->facts[FACT_BANKS_WITHOUT_ROWS])
		return gpu_tell(state, gpu->subject, &words, FINDING_WARN,
				"%" PRIu64 " banks of its memory have no spare row left: the next "
				"error there cannot be replaced",
				gpu->facts[FACT_BANKS_WITHOUT_ROWS]);
	words.code = "many-remapped";
	if (uncorrected > ROWS_MANY)
		return gpu_tell(state, gpu->subject, &words, FINDING_WARN,
				"%" PRIu64 " memory rows were replaced for uncorrectable errors, "
				"more than %d",
				uncorrected, ROWS_MANY);
	return gpu_tell(state, gpu->subject, &words, FINDING_GOOD,
			"%" PRIu64 " memory rows replaced for corrected errors, %" PRIu64
			" for uncorrectable ones",
			corrected, uncorrected);
}

/* NVIDIA's own replacement threshold; errors below it are acceptable. */
static int tell_sram(struct gpu_state *state, const struct gpu_reading *gpu)
{
	const uint64_t errors = gpu->facts[FACT_SRAM_UNCORRECTED];
	const struct gpu_words words = { .check = "gpu.sram_errors",
					 .value = (double)errors,
					 .code = "sram-threshold" };

	if (!knows(gpu, FACT_SRAM_BEYOND))
		return 0;
	if (gpu->facts[FACT_SRAM_BEYOND])
		return gpu_tell(state, gpu->subject, &words, FINDING_FAIL,
				"its on-chip memory had %" PRIu64
				" uncorrectable errors, above NVIDIA's threshold: run the field "
				"diagnostic, replace the GPU",
				errors);
	return gpu_tell(state, gpu->subject, &words, FINDING_GOOD,
			"%" PRIu64 " uncorrectable errors of its on-chip memory over its lifetime, "
			"within the threshold",
			errors);
}

static int tell_repair(struct gpu_state *state, const struct gpu_reading *gpu)
{
	const bool waits = gpu->facts[FACT_REPAIR_PENDING] != 0;
	const struct gpu_words words = { .check = "gpu.repair",
					 .value = waits,
					 .code = "repair-pending" };

	if (!knows(gpu, FACT_REPAIR_PENDING))
		return 0;
	if (waits)
		return gpu_tell(state, gpu->subject, &words, FINDING_WARN,
				"a repair of a memory channel or TPC is pending: reset the GPU "
				"when it is idle");
	return gpu_tell(state, gpu->subject, &words, FINDING_GOOD, "no repair is pending");
}

/* --- bus ------------------------------------------------------------------------------- */

static int tell_width(struct gpu_state *state, const struct gpu_reading *gpu)
{
	const unsigned now = (unsigned)gpu->facts[FACT_PCIE_WIDTH];
	const unsigned most = (unsigned)gpu->facts[FACT_PCIE_WIDTH_MAX];
	const struct gpu_words words = { .check = "gpu.pcie_width",
					 .value = now,
					 .code = "width-low" };

	if (!knows(gpu, FACT_PCIE_WIDTH) || !knows(gpu, FACT_PCIE_WIDTH_MAX))
		return 0;
	if (now < most)
		return gpu_tell(state, gpu->subject, &words, FINDING_WARN,
				"the PCIe link at %s has %u lanes of %u: reseat the GPU, "
				"check riser and slot",
				gpu->pci, now, most);
	return gpu_tell(state, gpu->subject, &words, FINDING_GOOD, "%u lanes", now);
}

/* The first performance state in which a GPU does not compute: P0 to P2 do. */
enum { PSTATE_LOW = 3 };

/*
 * Utilisation is an average over up to a second. A GPU that has just stopped working may already
 * have slowed its link down, but then reports that it is idle.
 */
static bool works(const struct gpu_reading *gpu)
{
	return gpu->facts[FACT_UTILIZATION] > 0 && !(gpu->facts[FACT_REASONS] & NVML_REASON_IDLE) &&
	       gpu->facts[FACT_PSTATE] < PSTATE_LOW;
}

/*
 * Does another idle GPU of its model keep its link at full speed? GPUs on a baseboard do; for
 * cards, or if all are slow, nothing can be said.
 */
static bool others_keep_speed(const struct gpu_state *state, const struct gpu_reading *gpu)
{
	size_t i;

	if (!knows(gpu, FACT_SWITCHED) || !gpu->facts[FACT_SWITCHED])
		return false;
	for (i = 0; i < state->gpus->n; i++) {
		const struct gpu_reading *other = &state->gpus->all[i];

		if (other != gpu && gpu_is_whole(other) && streq(other->model, gpu->model) &&
		    knows(other, FACT_PCIE_SPEED) && !works(other) &&
		    other->facts[FACT_PCIE_SPEED] >= gpu->facts[FACT_PCIE_SPEED_MAX])
			return true;
	}
	return false;
}

/* An idle card may slow its link, so it is judged only under load; on a baseboard always. */
static int tell_speed(struct gpu_state *state, const struct gpu_reading *gpu)
{
	const unsigned now = (unsigned)gpu->facts[FACT_PCIE_SPEED];
	const unsigned most = (unsigned)gpu->facts[FACT_PCIE_SPEED_MAX];
	struct gpu_words words = { .check = "gpu.pcie_speed", .value = now };

	if (!knows(gpu, FACT_PCIE_SPEED) || !knows(gpu, FACT_PCIE_SPEED_MAX))
		return 0;
	if (now >= most)
		return gpu_tell(state, gpu->subject, &words, FINDING_GOOD, "PCIe generation %u",
				now);
	if (!works(gpu) && !others_keep_speed(state, gpu))
		return gpu_tell(state, gpu->subject, &words, FINDING_NOTE,
				"PCIe generation %u of %u, and idle: not judged", now, most);
	words.code = "speed-low";
	return gpu_tell(state, gpu->subject, &words, FINDING_WARN,
			"the PCIe link at %s runs at generation %u of %u though %s: "
			"reseat it, check riser and slot",
			gpu->pci, now, most,
			works(gpu) ? "the GPU is busy"
				   : "other idle GPUs keep theirs at full speed");
}

/* --- clocks and power ------------------------------------------------------------------ */

/* Is another GPU of this host throttled for that, or is there none that could tell? */
static bool others_say(const struct gpu_state *state, const struct gpu_reading *gpu, uint64_t bit)
{
	unsigned n = 0, say = 0;
	size_t i;

	for (i = 0; i < state->gpus->n; i++) {
		const struct gpu_reading *other = &state->gpus->all[i];

		if (other == gpu || !gpu_is_whole(other) || !knows(other, FACT_REASONS))
			continue;
		n++;
		say += (other->facts[FACT_REASONS] & bit) != 0;
	}
	return n == 0 || say > 0;
}

static int tell_clocks(struct gpu_state *state, const struct gpu_reading *gpu)
{
	static const struct {
		unsigned bit;
		enum finding finding;
		const char *code, *words;
		bool common; /* only a note if others on this host have it too */
	} reasons[] = {
		{ NVML_REASON_HW_THERMAL, FINDING_WARN, "hw-thermal", "it is too hot" },
		{ NVML_REASON_HW_POWER_BRAKE, FINDING_WARN, "power-brake",
		  "the power supply requested it" },
		{ NVML_REASON_HW_SLOWDOWN, FINDING_WARN, "hw-slowdown",
		  "its hardware requested it: heat or power" },
		{ NVML_REASON_SW_THERMAL, FINDING_WARN, "sw-thermal", "it is too hot", true },
		{ NVML_REASON_APP_CLOCKS, FINDING_NOTE, "app-clocks", "an operator set its clock" },
		{ NVML_REASON_SYNC_BOOST, FINDING_NOTE, "sync-boost", "it follows another GPU" },
		{ NVML_REASON_SW_POWER_CAP, FINDING_NOTE, "sw-power-cap",
		  "it is held to its power limit, which is normal under load" },
	};
	const uint64_t bits = gpu->facts[FACT_REASONS];
	struct gpu_words words = { .check = "gpu.clocks", .value = (double)bits };
	enum finding finding;
	size_t i;

	if (!knows(gpu, FACT_REASONS))
		return 0;
	for (i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (!(bits & reasons[i].bit))
			continue;
		words.code = reasons[i].code;
		finding = reasons[i].common && others_say(state, gpu, reasons[i].bit)
				  ? FINDING_NOTE
				  : reasons[i].finding;
		return gpu_tell(state, gpu->subject, &words, finding,
				"the clock is held down now: %s (reasons 0x%" PRIx64 ")",
				reasons[i].words, bits);
	}
	return gpu_tell(state, gpu->subject, &words, FINDING_GOOD, "nothing holds the clock down");
}

static int tell_power(struct gpu_state *state, const struct gpu_reading *gpu)
{
	const double now = number(gpu, FACT_POWER_LIMIT) * 1e-3;
	const double usual = number(gpu, FACT_POWER_DEFAULT) * 1e-3;
	char setting[WORDS_SIZE], drawn[WORDS_SIZE] = "";
	const struct gpu_words words = {
		.check = "gpu.power_limit", .value = now, .code = "power-capped", .setting = setting
	};

	(void)snprintf(setting, sizeof(setting), "%.0f W", now);
	if (!knows(gpu, FACT_POWER_LIMIT) || !knows(gpu, FACT_POWER_DEFAULT))
		return 0;
	if (now < usual)
		return gpu_tell(state, gpu->subject, &words, FINDING_WARN,
				"its power is limited to %.0f W, the default is %.0f W: "
				"nvidia-smi -pl, or a limit of the host",
				now, usual);
	if (knows(gpu, FACT_POWER))
		(void)snprintf(drawn, sizeof(drawn), ", it draws %.0f W",
			       number(gpu, FACT_POWER) * 1e-3);
	return gpu_tell(state, gpu->subject, &words, FINDING_GOOD,
			"its power is limited to %.0f W, the default is %.0f W%s", now, usual,
			drawn);
}

static int tell_heat(struct gpu_state *state, const struct gpu_reading *gpu)
{
	const struct gpu_words words = { .check = "gpu.temperature",
					 .value = number(gpu, FACT_TEMPERATURE),
					 .code = "too-hot" };

	if (!knows(gpu, FACT_TEMPERATURE))
		return 0;
	if (!knows(gpu, FACT_MARGIN))
		return gpu_tell(state, gpu->subject, &words, FINDING_NOTE, "%.0f C", words.value);
	if (gpu->facts[FACT_TOO_HOT])
		return gpu_tell(state, gpu->subject, &words, FINDING_WARN,
				"%.0f C, %" PRIu64 " C beyond where its hardware slows down: check "
				"cooling and airflow",
				words.value, gpu->facts[FACT_TOO_HOT]);
	return gpu_tell(state, gpu->subject, &words, FINDING_GOOD,
			"%.0f C, %" PRIu64 " C below where its hardware slows down", words.value,
			gpu->facts[FACT_MARGIN]);
}

/* Is another GPU's memory of that model about as hot, and is this GPU not throttled for it? */
static bool is_common_heat(const struct gpu_state *state, const struct gpu_reading *gpu)
{
	const uint64_t now = gpu->facts[FACT_MEMORY_TEMPERATURE];
	size_t i;

	if (knows(gpu, FACT_REASONS) && gpu->facts[FACT_REASONS] & NVML_REASON_SW_THERMAL)
		return false;
	for (i = 0; i < state->gpus->n; i++) {
		const struct gpu_reading *other = &state->gpus->all[i];

		if (other != gpu && gpu_is_whole(other) && streq(other->model, gpu->model) &&
		    other->facts[FACT_MEMORY_TEMPERATURE] + MEMORY_NEAR_C >= now)
			return true;
	}
	return false;
}

/*
 * At this limit a GPU is throttled because of its memory (SW thermal), whatever its own
 * temperature. If the driver does not report the limit, that of other products may be too low, so
 * other GPUs are considered.
 */
static int tell_memory_heat(struct gpu_state *state, const struct gpu_reading *gpu)
{
	const struct gpu_words words = { .check = "gpu.memory_temperature",
					 .value = number(gpu, FACT_MEMORY_TEMPERATURE),
					 .code = "memory-hot" };
	const bool told = knows(gpu, FACT_MEMORY_LIMIT);
	const uint64_t limit = told ? gpu->facts[FACT_MEMORY_LIMIT] : ACCEL_MEMORY_LIMIT_C;

	/* A GPU without such a sensor may report 0. */
	if (!knows(gpu, FACT_MEMORY_TEMPERATURE) || words.value <= 0)
		return 0;
	if (gpu->facts[FACT_MEMORY_TEMPERATURE] < limit)
		return gpu_tell(state, gpu->subject, &words, FINDING_GOOD,
				"its memory is at %.0f C, below the %" PRIu64
				" C at which it slows the GPU down",
				words.value, limit);
	return gpu_tell(state, gpu->subject, &words,
			!told && is_common_heat(state, gpu) ? FINDING_NOTE : FINDING_WARN,
			"its memory is at %.0f C, and from %" PRIu64
			" C it slows the GPU down: check cooling and airflow",
			words.value, limit);
}

/* --- modes and processes ------------------------------------------------------------------ */

static int tell_mig(struct gpu_state *state, const struct gpu_reading *gpu)
{
	static const char *const modes[] = { "off", "on" };
	const bool on = gpu->facts[FACT_MIG] != 0;
	struct gpu_words words = { .check = "gpu.mig", .value = on, .setting = modes[on] };

	if (!knows(gpu, FACT_MIG))
		return 0;
	if (gpu->facts[FACT_MIG_PENDING] != gpu->facts[FACT_MIG]) {
		words.code = "mig-pending";
		return gpu_tell(state, gpu->subject, &words, FINDING_INFO,
				"MIG is %s, but will not be after the next reset", modes[on]);
	}
	return gpu_tell(state, gpu->subject, &words, on ? FINDING_NOTE : FINDING_GOOD, "%s",
			on ? "it is partitioned into instances (MIG)" : "it is not partitioned");
}

/* If off, the driver restarts the GPU for each program that uses it alone. */
static int tell_persistence(struct gpu_state *state, const struct gpu_reading *gpu)
{
	static const char *const modes[] = { "off", "on" };
	const bool on = gpu->facts[FACT_PERSISTENCE] != 0;
	const struct gpu_words words = { .check = "gpu.persistence",
					 .value = on,
					 .setting = modes[on] };

	if (!knows(gpu, FACT_PERSISTENCE))
		return 0;
	if (on)
		return gpu_tell(state, gpu->subject, &words, FINDING_GOOD, "persistence mode is on");
	return gpu_tell(state, gpu->subject, &words, FINDING_NOTE,
			"persistence mode is off: the driver initializes the GPU anew whenever a "
			"program opens it first (nvidia-persistenced avoids that)");
}

static int tell_recovery(struct gpu_state *state, const struct gpu_reading *gpu)
{
	static const struct {
		enum finding finding;
		const char *code, *words;
	} actions[NVML_RECOVERIES] = {
		[NVML_RECOVERY_NONE] = { FINDING_GOOD, NULL, "nothing" },
		[NVML_RECOVERY_RESET] = { FINDING_FATAL, "reset-gpu", "a reset of the GPU" },
		[NVML_RECOVERY_REBOOT] = { FINDING_FATAL, "reboot", "a reboot of the host" },
		[NVML_RECOVERY_DRAIN_P2P] = { FINDING_WARN, "drain-p2p",
					      "an end of its peer-to-peer traffic" },
		[NVML_RECOVERY_DRAIN_AND_RESET] = { FINDING_FATAL, "drain-and-reset",
						    "a drain and a reset of the GPU" },
		[NVML_RECOVERY_IMEX] = { FINDING_WARN, "imex", "a recovery of the IMEX domain" },
	};
	const uint64_t action = gpu->facts[FACT_RECOVERY];
	struct gpu_words words = { .check = "gpu.recovery", .value = (double)action };

	if (!knows(gpu, FACT_RECOVERY))
		return 0;
	words.code = "unknown";
	if (action >= NVML_RECOVERIES)
		return gpu_tell(state, gpu->subject, &words, FINDING_WARN,
				"the driver asks for action %" PRIu64 ", which is unknown", action);
	words.code = actions[action].code;
	return gpu_tell(state, gpu->subject, &words, actions[action].finding,
			"the driver asks for %s", actions[action].words);
}

static void name_process(struct strbuf *names, unsigned pid)
{
	CLEANUP(freep) char *command = sys_line("/proc/%u/comm", pid);

	(void)strbuf_printf(names, "%s%u (%s)", *strbuf_text(names) ? ", " : ": ", pid,
			    command ? command : "not in this container");
}

static int tell_processes(struct gpu_state *state, const struct gpu_reading *gpu)
{
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT(NAMES_MAX);
	const struct gpu_words words = { .check = "gpu.processes", .value = gpu->n_processes };
	unsigned i;

	if (!gpu->has_processes)
		return 0;
	for (i = 0; i < MIN(gpu->n_processes, (unsigned)PROCESSES_TOLD); i++)
		name_process(&names, gpu->pids[i]);
	return gpu_tell(state, gpu->subject, &words, FINDING_NOTE, "%u compute process%s%s%s",
			gpu->n_processes, gpu->n_processes == 1 ? "" : "es", strbuf_text(&names),
			gpu->n_processes > PROCESSES_TOLD ? " and more" : "");
}

int gpu_facts(struct gpu_state *state)
{
	static int (*const rules[])(struct gpu_state * state, const struct gpu_reading *gpu) = {
		tell_recovery,	  tell_ecc,   tell_rows,      tell_sram,	tell_repair,
		tell_width,	  tell_speed, tell_clocks,    tell_power,	tell_heat,
		tell_memory_heat, tell_mig,   tell_processes, tell_persistence,
	};
	size_t i, j;
	int r = 0;

	for (i = 0; i < state->gpus->n; i++) {
		const struct gpu_reading *gpu = &state->gpus->all[i];

		for (j = 0; gpu_is_whole(gpu) && j < ARRAY_SIZE(rules) && r == 0; j++)
			r = rules[j](state, gpu);
	}
	return r;
}
