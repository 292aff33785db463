/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gpu_state/gpu_state.h"

#include <stdarg.h>

#include "lib/base/xalloc.h"
#include "probes/gpu_state/gpu_parts.h"

const struct probe_check gpu_checks[] = {
	{ "gpu.lost", "1", BETTER_NONE, "A GPU that fell off the bus or is gone." },
	{ "gpu.nvml", "1", BETTER_NONE, "A driver that does not answer or asks for a reset." },
	{ "gpu.recovery", "1", BETTER_NONE, "A GPU that needs a reset, or its host a reboot." },
	{ "gpu.xid", "1", BETTER_NONE, "Errors that the driver reported since the last run." },
	{ "gpu.ecc_errors", "1", BETTER_NONE, "GPU memory that loses or corrects data." },
	{ "gpu.ecc_mode", "1", BETTER_NONE, "ECC off, or changed by the next reset." },
	{ "gpu.remapped_rows", "1", BETTER_NONE, "Memory rows replaced, or that could not be." },
	{ "gpu.sram_errors", "1", BETTER_NONE, "On-chip memory of a GPU that is worn out." },
	{ "gpu.repair", "1", BETTER_NONE, "A pending repair of a GPU's memory that needs a reset." },
	{ "gpu.throttle", "s", BETTER_NONE, "Time a GPU ran slower because of heat or power." },
	{ "gpu.clocks", "1", BETTER_NONE, "A GPU that is slowed down right now." },
	{ "gpu.power_limit", "1", BETTER_NONE, "A power limit below the default (W)." },
	{ "gpu.temperature", "1", BETTER_NONE, "A GPU that is too hot (C)." },
	{ "gpu.memory_temperature", "1", BETTER_NONE, "Memory of a GPU that is too hot (C)." },
	{ "gpu.pcie_width", "1", BETTER_NONE, "A PCIe link that lost lanes." },
	{ "gpu.pcie_speed", "1", BETTER_NONE, "A PCIe link too slow under load (generation)." },
	{ "gpu.pcie_errors", "1", BETTER_NONE, "A PCIe link that has to retransmit." },
	{ "gpu.nvlink", "1", BETTER_NONE, "NVLinks that are down." },
	{ "gpu.nvlink_speed", "B/s", BETTER_NONE, "An NVLink slower than the others." },
	{ "gpu.nvlink_errors", "1", BETTER_NONE, "NVLinks with bit errors or recoveries." },
	{ "gpu.c2c", "1", BETTER_NONE, "A link between GPU and processor that is down or slow." },
	{ "gpu.fabric", "1", BETTER_NONE, "A GPU that is not part of the NVLink fabric." },
	{ "gpu.mig", "1", BETTER_NONE, "A GPU divided into instances." },
	{ "gpu.persistence", "1", BETTER_NONE,
	  "A GPU that the driver reinitializes for each program." },
	{ "gpu.compute_mode", "1", BETTER_NONE, "Who may use a GPU at the same time." },
	{ "gpu.vbios", "1", BETTER_NONE, "GPUs with different firmware." },
	{ "gpu.gsp_firmware", "1", BETTER_NONE,
	  "The driver's firmware on the GPU, or its absence." },
	{ "gpu.bar1", "1", BETTER_NONE, "GPU memory visible on the bus (MiB)." },
	{ "gpu.inforom", "1", BETTER_NONE, "A GPU whose InfoROM is corrupt." },
	{ "gpu.cc", "1", BETTER_NONE, "Confidential computing." },
	{ "gpu.processes", "1", BETTER_NONE, "Processes that use a GPU." },
	{ "inventory.nvlinks", "1", BETTER_HIGHER, "NVLinks missing." },
};
const size_t gpu_n_checks = ARRAY_SIZE(gpu_checks);

static int emit(struct gpu_state *state, struct sample *s, enum finding finding,
		const char *note_fmt, va_list args) PRINTF(4, 0);
static int emit(struct gpu_state *state, struct sample *s, enum finding finding,
		const char *note_fmt, va_list args)
{
	finding_fill(state->desc, s, finding, note_fmt, args);
	return state->emit(state->emit_context, s);
}

int gpu_emit(struct gpu_state *state, struct sample *s, enum finding finding, const char *note_fmt,
	     ...)
{
	va_list args;
	int r;

	va_start(args, note_fmt);
	r = emit(state, s, finding, note_fmt, args);
	va_end(args);
	return r;
}

int gpu_tell(struct gpu_state *state, const char *subject, const struct gpu_words *words,
	     enum finding finding, const char *note_fmt, ...)
{
	struct sample s = finding_sample(words->check, subject, words->value);
	va_list args;
	int r;

	if (words->code && finding != FINDING_GOOD)
		s.code = xstrdup(words->code);
	if (words->setting)
		s.params = json_pack("{s:s}", "setting", words->setting);
	if (streq(words->check, "gpu.nvml"))
		s.parts = gpu_parts(state, subject);
	va_start(args, note_fmt);
	r = emit(state, &s, finding, note_fmt, args);
	va_end(args);
	return r;
}

bool gpu_is_whole(const struct gpu_reading *gpu)
{
	return !gpu->stuck && !gpu->skipped && gpu->result == NVML_OK && gpu->subject[0];
}

unsigned gpu_state_usual(const struct gpu_state *state, const struct gpu_reading *gpu,
			 const char *key, unsigned max,
			 unsigned (*of)(const struct gpu_reading *gpu))
{
	const json_t *was = json_object_get(json_object_get(state->past, "gpus"), gpu->subject);
	const json_int_t before = json_integer_value(json_object_get(was, key));
	unsigned most = before > 0 ? (unsigned)MIN(before, (json_int_t)max) : 0;
	size_t i;

	for (i = 0; i < state->gpus->n; i++) {
		const struct gpu_reading *other = &state->gpus->all[i];

		if (gpu_is_whole(other) && streq(other->model, gpu->model))
			most = MAX(most, of(other));
	}
	return most;
}

unsigned gpu_state_c2c_links(const struct gpu_reading *gpu)
{
	unsigned n = 0, i;

	for (i = 0; i < gpu->n_c2c; i++)
		n += gpu->c2c[i].active;
	return n;
}

unsigned gpu_state_c2c_speed(const struct gpu_reading *gpu)
{
	unsigned most = 0, i;

	for (i = 0; i < gpu->n_c2c; i++)
		most = gpu->c2c[i].active ? MAX(most, gpu->c2c[i].mb_s) : most;
	return most;
}

unsigned gpu_state_link_speed(const struct gpu_reading *gpu)
{
	unsigned most = 0, i;

	for (i = 0; i < gpu->n_links; i++)
		most = MAX(most, gpu->link_mb_s[i]);
	return most;
}
