/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU settings and firmware versions: params.setting, which `assay run` copies into `env` of the
 * report, where the controller finds hosts that differ from most of their SKU. One sample for the
 * host if all its GPUs agree, otherwise one per GPU.
 */
#include "probes/gpu_state/gpu_settings.h"

#include <inttypes.h>
#include <stdio.h>

enum { TEXT_SIZE = 80 };

/* One setting of one GPU. */
struct setting {
	bool there;
	double value; /* 1 if it is only text */
	char text[TEXT_SIZE];
};

static void set(struct setting *s, double value, const char *text)
{
	s->there = text[0] != '\0';
	s->value = value;
	(void)snprintf(s->text, sizeof(s->text), "%s", text);
}

static void say_compute(const struct gpu_reading *gpu, struct setting *s)
{
	static const char *const modes[NVML_COMPUTES] = {
		[NVML_COMPUTE_DEFAULT] = "default",
		[NVML_COMPUTE_EXCLUSIVE_THREAD] = "exclusive thread",
		[NVML_COMPUTE_PROHIBITED] = "prohibited",
		[NVML_COMPUTE_EXCLUSIVE_PROCESS] = "exclusive process",
	};
	const uint64_t mode = gpu->facts[FACT_COMPUTE_MODE];

	if (gpu->known[FACT_COMPUTE_MODE])
		set(s, (double)mode, mode < NVML_COMPUTES ? modes[mode] : "unknown");
}

static void say_vbios(const struct gpu_reading *gpu, struct setting *s)
{
	set(s, 1, gpu->vbios);
}

/* The version is reported even if the firmware is not in use. */
static void say_gsp(const struct gpu_reading *gpu, struct setting *s)
{
	const bool off = gpu->known[FACT_GSP] && !gpu->facts[FACT_GSP];

	set(s, !off, off ? "off" : gpu->gsp);
}

static void say_bar1(const struct gpu_reading *gpu, struct setting *s)
{
	char text[TEXT_SIZE];

	if (!gpu->known[FACT_BAR1_MIB])
		return;
	(void)snprintf(text, sizeof(text), "%" PRIu64 " MiB", gpu->facts[FACT_BAR1_MIB]);
	set(s, (double)gpu->facts[FACT_BAR1_MIB], text);
}

static const struct reader {
	const char *check, *words;
	void (*say)(const struct gpu_reading *gpu, struct setting *s);
} readers[] = {
	{ "gpu.compute_mode", "compute mode", say_compute },
	{ "gpu.vbios", "VBIOS", say_vbios },
	{ "gpu.gsp_firmware", "GSP firmware", say_gsp },
	{ "gpu.bar1", "GPU memory visible on the bus (BAR1)", say_bar1 },
};

static void read_all(const struct gpu_state *state, const struct reader *reader,
		     struct setting all[static GPU_MAX])
{
	size_t i;

	for (i = 0; i < state->gpus->n; i++) {
		all[i] = (struct setting){ .there = false };
		if (gpu_is_whole(&state->gpus->all[i]))
			reader->say(&state->gpus->all[i], &all[i]);
	}
}

/* How many GPUs of this model have the setting, and how many have the same value. */
static size_t count_model(const struct gpu_state *state, const struct setting *all, size_t which,
			  size_t *ret_like)
{
	const struct gpu_reading *gpus = state->gpus->all;
	size_t n = 0, i;

	*ret_like = 0;
	for (i = 0; i < state->gpus->n; i++) {
		if (!all[i].there || !streq(gpus[i].model, gpus[which].model))
			continue;
		n++;
		*ret_like += streq(all[i].text, all[which].text);
	}
	return n;
}

static int tell_one(struct gpu_state *state, const struct reader *reader, const struct setting *all,
		    size_t which)
{
	struct gpu_words words = { .check = reader->check,
				   .value = all[which].value,
				   .code = "unlike-others",
				   .setting = all[which].text };
	const char *subject = state->gpus->all[which].subject;
	size_t like, n = count_model(state, all, which, &like);

	if (2 * like < n)
		return gpu_tell(state, subject, &words, FINDING_INFO,
				"%s: %s, unlike %zu of the %zu GPUs of its model", reader->words,
				all[which].text, n - like, n);
	words.code = NULL;
	return gpu_tell(state, subject, &words, FINDING_NOTE, "%s: %s", reader->words,
			all[which].text);
}

/* The first GPU that has it; the number of GPUs if none has. */
static size_t first_there(const struct gpu_state *state, const struct setting *all)
{
	size_t i = 0;

	while (i < state->gpus->n && !all[i].there)
		i++;
	return i;
}

static int tell(struct gpu_state *state, const struct reader *reader)
{
	struct setting all[GPU_MAX];
	size_t first, n = 0, i;
	bool alike = true;
	int r = 0;

	read_all(state, reader, all);
	first = first_there(state, all);
	if (first == state->gpus->n)
		return 0;
	for (i = first; i < state->gpus->n; i++) {
		n += all[i].there;
		alike = alike && (!all[i].there || streq(all[i].text, all[first].text));
	}
	if (alike) {
		const struct gpu_words words = { .check = reader->check,
						 .value = all[first].value,
						 .setting = all[first].text };

		return gpu_tell(state, "host", &words, FINDING_NOTE, "%s of %zu GPU%s: %s",
				reader->words, n, n == 1 ? "" : "s", all[first].text);
	}
	for (i = first; i < state->gpus->n && r == 0; i++) {
		if (all[i].there)
			r = tell_one(state, reader, all, i);
	}
	return r;
}

/* --- more than a setting ---------------------------------------------------------------------- */

/* The InfoROM holds the serial number, limits and lifetime error counts. */
static int tell_inforom(struct gpu_state *state, const struct gpu_reading *gpu)
{
	const bool corrupt = gpu->known[FACT_INFOROM_CORRUPT] && gpu->facts[FACT_INFOROM_CORRUPT];
	const char *version = gpu->inforom[0] ? gpu->inforom : "of an unknown version";
	const struct gpu_words words = { .check = "gpu.inforom",
					 .value = !corrupt,
					 .code = corrupt ? "inforom-corrupt" : NULL,
					 .setting = gpu->inforom[0] ? gpu->inforom : NULL };

	if (!gpu->inforom[0] && !gpu->known[FACT_INFOROM_CORRUPT])
		return 0;
	if (corrupt)
		return gpu_tell(state, gpu->subject, &words, FINDING_WARN,
				"its InfoROM (%s) is corrupt: its lifetime counters are "
				"unreliable; have it reflashed, or replace the GPU",
				version);
	if (!gpu->known[FACT_INFOROM_CORRUPT])
		return gpu_tell(state, gpu->subject, &words, FINDING_NOTE,
				"InfoROM %s, which the driver does not verify", version);
	return gpu_tell(state, gpu->subject, &words, FINDING_GOOD, "InfoROM %s, intact", version);
}

static int tell_cc(struct gpu_state *state)
{
	const struct nvml_cc *cc = &state->gpus->cc;
	const struct gpu_words words = { .check = "gpu.cc",
					 .value = cc->on,
					 .setting = !cc->on		  ? "off"
						    : cc->developer_tools ? "on, developer tools"
									  : "on" };

	if (!state->gpus->knows_cc)
		return 0;
	return gpu_tell(state, "host", &words, FINDING_NOTE, "confidential computing is %s",
			words.setting);
}

int gpu_settings(struct gpu_state *state)
{
	int r = tell_cc(state);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(readers) && r == 0; i++)
		r = tell(state, &readers[i]);
	for (i = 0; i < state->gpus->n && r == 0; i++) {
		if (gpu_is_whole(&state->gpus->all[i]))
			r = tell_inforom(state, &state->gpus->all[i]);
	}
	return r;
}
