/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVLink and the fabric behind it. A GPU should have as many links as it had in an earlier run, or
 * as others of its model on this host have. If no link of a GPU was ever up, it may not be bridged
 * at all.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "probes/gpu_state/gpu_state.h"

#define BYTES_PER_MB 1e6
#define GB_PER_MB 1e-3

enum { NAMES_MAX = 256, LINK_MB_S_MAX = 1000000 };

static unsigned had_before(const struct gpu_state *state, const struct gpu_reading *gpu)
{
	const json_t *was = json_object_get(json_object_get(state->past, "gpus"), gpu->subject);
	json_int_t links = json_integer_value(json_object_get(was, "links"));

	return links > 0 ? (unsigned)MIN(links, (json_int_t)NVML_NVLINKS_MAX) : 0;
}

static unsigned others_have(const struct gpu_state *state, const struct gpu_reading *gpu)
{
	unsigned most = 0;
	size_t i;

	for (i = 0; i < state->gpus->n; i++) {
		const struct gpu_reading *other = &state->gpus->all[i];

		if (gpu_is_whole(other) && streq(other->model, gpu->model))
			most = MAX(most, other->n_active);
	}
	return most;
}

static int tell_links(struct gpu_state *state, const struct gpu_reading *gpu)
{
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT(NAMES_MAX);
	const struct gpu_words words = { .check = "gpu.nvlink",
					 .value = gpu->n_active,
					 .code = "nvlink-down" };
	const struct gpu_words none = { .check = "gpu.nvlink" };
	unsigned before = had_before(state, gpu), others = others_have(state, gpu), i;

	if (gpu->n_links == 0)
		return 0;
	for (i = 0; i < gpu->n_links; i++) {
		if (!gpu->active[i])
			(void)strbuf_printf(&names, "%s%u", *strbuf_text(&names) ? ", " : "", i);
	}
	if (gpu->n_active == 0 && before == 0)
		return gpu_tell(state, gpu->subject, &none, FINDING_NOTE,
				"none of its %u NVLinks is up, and none was in an earlier run",
				gpu->n_links);
	if (gpu->n_active < MAX(before, others))
		return gpu_tell(state, gpu->subject, &words, FINDING_FAIL,
				"%u NVLinks are up, %s %u; down: %s", gpu->n_active,
				gpu->n_active < before ? "and it had"
						       : "and others of its model have",
				MAX(before, others), strbuf_text(&names));
	return gpu_tell(state, gpu->subject, &words, FINDING_GOOD, "%u NVLinks are up of %u",
			gpu->n_active, gpu->n_links);
}

/* Link speeds are few and far apart, so different rounding by drivers does not matter. */
static bool is_slower(unsigned mb_s, unsigned usual)
{
	return mb_s > 0 && mb_s < usual - usual / 10;
}

static int tell_link_speed(struct gpu_state *state, const struct gpu_reading *gpu)
{
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT(NAMES_MAX);
	struct gpu_words words = { .check = "gpu.nvlink_speed", .code = "nvlink-slow" };
	const unsigned usual =
		gpu_state_usual(state, gpu, "link_mb_s", LINK_MB_S_MAX, gpu_state_link_speed);
	unsigned lowest = gpu_state_link_speed(gpu), n = 0, slow = 0, i;

	for (i = 0; i < gpu->n_links; i++) {
		const unsigned mb_s = gpu->link_mb_s[i];

		n += mb_s > 0;
		lowest = mb_s > 0 ? MIN(lowest, mb_s) : lowest;
		if (is_slower(mb_s, usual))
			(void)strbuf_printf(&names, "%s%u", slow++ ? ", " : "", i);
	}
	if (n == 0)
		return 0;
	words.value = lowest * BYTES_PER_MB;
	if (slow > 0)
		return gpu_tell(
			state, gpu->subject, &words, FINDING_WARN,
			"%u of %u NVLinks run slower than %.6g GB/s each way, which others "
			"of its model or these themselves did: %s, down to %.6g GB/s: reset "
			"the GPU, check baseboard or bridge",
			slow, n, usual * GB_PER_MB, strbuf_text(&names), lowest * GB_PER_MB);
	return gpu_tell(state, gpu->subject, &words, FINDING_GOOD,
			"%u NVLinks run at %.6g GB/s each way", n, lowest * GB_PER_MB);
}

/* --- fabric ------------------------------------------------------------------------------ */

/* Bit fields of the fabric's health, and their good and bad values. */
static const struct {
	unsigned shift, mask, good, bad; /* 0: any other value */
	enum finding finding;
	const char *code, *words;
} healths[] = {
	/* Values: 0 not supported, 1 yes, 2 no; configuration: 1 correct, above incorrect. */
	{ 8, 0xf, 1, 0, FINDING_WARN, "fabric-configuration", "its fabric is misconfigured" },
	{ 4, 0x3, 0, 1, FINDING_WARN, "fabric-route", "a route of its fabric is unhealthy" },
	{ 0, 0x3, 0, 1, FINDING_WARN, "fabric-bandwidth",
	  "the bandwidth of its fabric is degraded" },
	{ 2, 0x3, 0, 1, FINDING_INFO, "fabric-recovery", "a route of its fabric is recovering" },
	{ 6, 0x3, 0, 1, FINDING_INFO, "fabric-timeout", "its fabric is recovering from a timeout" },
};

static bool is_bad(uint64_t health, size_t i)
{
	uint64_t value = health >> healths[i].shift & healths[i].mask;

	return healths[i].bad ? value == healths[i].bad : value > healths[i].good;
}

/*
 * Is or was any GPU of this host part of a fabric? If none ever was, that may be intended: a
 * virtual machine whose host owns the switches, or NVLink disabled.
 */
static bool fabric_was_whole(const struct gpu_state *state)
{
	size_t i;

	for (i = 0; i < state->gpus->n; i++) {
		const struct gpu_reading *gpu = &state->gpus->all[i];

		if (gpu_is_whole(gpu) && gpu->known[FACT_FABRIC] &&
		    gpu->facts[FACT_FABRIC] == NVML_FABRIC_COMPLETED)
			return true;
	}
	return json_is_true(json_object_get(state->past, "fabric"));
}

static int tell_fabric(struct gpu_state *state, const struct gpu_reading *gpu)
{
	const uint64_t fabric = gpu->facts[FACT_FABRIC], health = gpu->facts[FACT_FABRIC_HEALTH];
	struct gpu_words words = { .check = "gpu.fabric", .value = (double)fabric };
	size_t i;

	if (!gpu->known[FACT_FABRIC] || fabric == NVML_FABRIC_NOT_SUPPORTED)
		return 0;
	words.code = "fabric-not-ready";
	if (fabric != NVML_FABRIC_COMPLETED && !fabric_was_whole(state))
		return gpu_tell(state, gpu->subject, &words, FINDING_NOTE,
				"it is not part of an NVLink fabric (%s), and no GPU of this host "
				"is or ever was",
				fabric == NVML_FABRIC_IN_PROGRESS ? "in progress" : "not started");
	if (fabric != NVML_FABRIC_COMPLETED)
		return gpu_tell(state, gpu->subject, &words, FINDING_FAIL,
				"it is not part of the NVLink fabric (%s): is nvidia-fabricmanager "
				"running?",
				fabric == NVML_FABRIC_IN_PROGRESS ? "in progress" : "not started");
	words.code = "fabric-failed";
	if (gpu->facts[FACT_FABRIC_STATUS] != NVML_OK)
		return gpu_tell(state, gpu->subject, &words, FINDING_FAIL,
				"it could not join the NVLink fabric: NVML error %" PRIu64,
				gpu->facts[FACT_FABRIC_STATUS]);
	for (i = 0; i < ARRAY_SIZE(healths); i++) {
		words.code = healths[i].code;
		if (is_bad(health, i))
			return gpu_tell(state, gpu->subject, &words, healths[i].finding,
					"%s (health 0x%" PRIx64 ")", healths[i].words, health);
	}
	return gpu_tell(state, gpu->subject, &words, FINDING_GOOD, "part of the NVLink fabric");
}

/* --- everything ---------------------------------------------------------------------------- */

/* The host's total; no sample if a GPU could not be queried, or there are no links. */
static int tell_count(struct gpu_state *state)
{
	struct gpu_words words = { .check = "inventory.nvlinks" };
	unsigned n = 0;
	size_t i;

	for (i = 0; i < state->gpus->n; i++) {
		const struct gpu_reading *gpu = &state->gpus->all[i];

		/* One that does not answer makes the count unknown; a lost GPU has no links. */
		if (gpu->stuck || gpu->skipped)
			return 0;
		n += gpu->n_links;
		words.value += gpu->n_active;
	}
	if (n == 0)
		return 0;
	return gpu_tell(state, "host", &words, FINDING_NOTE, "%.0f of %u NVLinks are up",
			words.value, n);
}

int gpu_links(struct gpu_state *state)
{
	size_t i;
	int r = tell_count(state);

	(void)json_object_set_new(state->next, "fabric", json_boolean(fabric_was_whole(state)));
	for (i = 0; i < state->gpus->n && r == 0; i++) {
		const struct gpu_reading *gpu = &state->gpus->all[i];

		if (!gpu_is_whole(gpu))
			continue;
		r = tell_links(state, gpu);
		if (r == 0)
			r = tell_link_speed(state, gpu);
		if (r == 0)
			r = tell_fabric(state, gpu);
	}
	return r;
}
