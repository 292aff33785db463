/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the GPUs ever seen on this host are present and answer. What is known about a GPU is kept
 * for good, across boots: known: [{id, model}] and gpus: {"SUBJECT": {index, pci, links, link_mb_s,
 * c2c, c2c_mb_s}}.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/sys/paths.h"
#include "lib/sys/sysfs.h"
#include "probes/gpu_state/gpu_state.h"
#include "probes/harness/known.h"

static const char *text_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* --- GPUs that could not be identified --------------------------------------------------- */

static bool is_named(const struct gpus *gpus, const char *subject)
{
	size_t i = 0;

	while (i < gpus->n && !streq(gpus->all[i].subject, subject))
		i++;
	return i < gpus->n;
}

/*
 * Compares addresses; without one, the index, which within a boot stays with a GPU as long as none
 * disappears (NVML orders by address).
 */
static bool is_the_same(const struct gpu_state *state, const struct gpu_reading *gpu,
			const json_t *was)
{
	const json_t *index = json_object_get(was, "index");

	if (gpu->pci[0])
		return streq(text_at(was, "pci"), gpu->pci);
	return state->same_boot && json_is_integer(index) &&
	       json_integer_value(index) == (json_int_t)gpu->index;
}

static void name_by_past(const struct gpu_state *state, struct gpu_reading *gpu)
{
	json_t *past = json_object_get(state->past, "gpus");
	const char *subject;
	json_t *was;

	json_object_foreach(past, subject, was)
	{
		if (!is_the_same(state, gpu, was) || is_named(state->gpus, subject))
			continue;
		(void)snprintf(gpu->subject, sizeof(gpu->subject), "%.79s", subject);
		(void)snprintf(gpu->pci, sizeof(gpu->pci), "%.19s", text_at(was, "pci"));
		(void)snprintf(gpu->model, sizeof(gpu->model), "%.15s", text_at(was, "model"));
		return;
	}
}

/* Find names for all; returns how many still have none. */
static size_t name_all(struct gpu_state *state)
{
	size_t n = 0, i;

	for (i = 0; i < state->gpus->n; i++) {
		struct gpu_reading *gpu = &state->gpus->all[i];

		if (!gpu->subject[0])
			name_by_past(state, gpu);
		if (gpu->subject[0])
			continue;
		n++;
		if (gpu->pci[0])
			(void)snprintf(gpu->subject, sizeof(gpu->subject), "pci:%s", gpu->pci);
		else
			(void)snprintf(gpu->subject, sizeof(gpu->subject), "gpu:%u", gpu->index);
	}
	return n;
}

/* --- what is saved -------------------------------------------------------------------------- */

static bool has_uuid(const struct gpu_reading *gpu)
{
	return starts_with(gpu->subject, "gpu:GPU-");
}

static size_t know_all(const struct gpu_state *state, struct known *now)
{
	size_t n = 0, i;

	for (i = 0; i < state->gpus->n; i++) {
		const struct gpu_reading *gpu = &state->gpus->all[i];

		if (!has_uuid(gpu))
			continue;
		(void)snprintf(now[n].id, sizeof(now[n].id), "%s", gpu->subject);
		(void)snprintf(now[n++].model, sizeof(now[0].model), "%s", gpu->model);
	}
	return n;
}

/* An unknown mode counts as off. If no GPU could be read, the past value holds. */
static bool all_persistent(const struct gpu_state *state)
{
	bool on = state->same_boot && json_is_true(json_object_get(state->past, "persistence"));
	size_t i;

	for (i = 0; i < state->gpus->n; i++) {
		const struct gpu_reading *gpu = &state->gpus->all[i];

		if (!gpu_is_whole(gpu))
			continue;
		on = gpu->known[FACT_PERSISTENCE] && gpu->facts[FACT_PERSISTENCE];
		if (!on)
			return false;
	}
	return on;
}

static void keep(struct gpu_state *state, const struct known *lost, size_t n_lost)
{
	json_t *past = json_object_get(state->past, "gpus"), *next = json_object();
	size_t i;

	for (i = 0; i < n_lost; i++) {
		json_t *was = json_object_get(past, lost[i].id);

		if (was)
			(void)json_object_set(next, lost[i].id, was);
	}
	for (i = 0; i < state->gpus->n; i++) {
		const struct gpu_reading *gpu = &state->gpus->all[i];
		json_t *was = json_object_get(past, gpu->subject);
		json_int_t links = json_integer_value(json_object_get(was, "links"));
		json_int_t speed = json_integer_value(json_object_get(was, "link_mb_s"));
		json_int_t c2c = json_integer_value(json_object_get(was, "c2c"));
		json_int_t c2c_speed = json_integer_value(json_object_get(was, "c2c_mb_s"));

		if (has_uuid(gpu))
			(void)json_object_set_new(
				next, gpu->subject,
				json_pack(
					"{s:i, s:s, s:s, s:I, s:I, s:I, s:I}", "index",
					(int)gpu->index, "pci", gpu->pci, "model", gpu->model,
					"links", MAX(links, (json_int_t)gpu->n_active), "link_mb_s",
					MAX(speed, (json_int_t)gpu_state_link_speed(gpu)), "c2c",
					MAX(c2c, (json_int_t)gpu_state_c2c_links(gpu)), "c2c_mb_s",
					MAX(c2c_speed, (json_int_t)gpu_state_c2c_speed(gpu))));
	}
	(void)json_object_set_new(state->next, "gpus", next);
	(void)json_object_set_new(state->next, "persistence", json_boolean(all_persistent(state)));
}

/* --- samples -------------------------------------------------------------------------------- */

static const char *call_of(const struct gpu_reading *gpu)
{
	return gpu->at ? gpu->at : "?";
}

static int tell_gone(struct gpu_state *state, const struct known *lost)
{
	const struct gpu_words words = { .check = "gpu.lost", .value = 1, .code = "device-lost" };
	const struct gpu_words hidden = { .check = "gpu.lost", .value = 1, .code = "not-shown" };
	json_t *was = json_object_get(json_object_get(state->past, "gpus"), lost->id);
	CLEANUP(freep)
	char *on_bus = sys_line("/sys/bus/pci/devices/%s/vendor", text_at(was, "pci"));
	CLEANUP(freep) char *dir = paths_state();

	if (on_bus && *text_at(was, "pci"))
		return gpu_tell(state, lost->id, &hidden, FINDING_FAIL,
				"seen in an earlier run, on the PCI bus at %s, but not shown by "
				"the driver: it failed to start, or is hidden from this container",
				text_at(was, "pci"));
	return gpu_tell(state, lost->id, &words, FINDING_FATAL,
			"lost, seen in an earlier run at %s and absent now; if it was removed on "
			"purpose, delete %s/probe/gpu-state.json",
			*text_at(was, "pci") ? text_at(was, "pci") : "an unknown address", dir);
}

/* We may not open the device node of this GPU: a set-up problem, not a fault of the GPU. */
static bool is_refused(const struct gpu_reading *gpu)
{
	return gpu->result == NVML_NO_PERMISSION || gpu->result == NVML_OPERATING_SYSTEM;
}

static int tell_refused(struct gpu_state *state, const struct gpu_reading *gpu)
{
	struct sample s = finding_sample("gpu.nvml", gpu->subject, NAN);

	s.state = SAMPLE_SET_UP;
	return gpu_emit(state, &s, FINDING_NOTE,
			"the driver refuses it (%s, call %s): may this process open its "
			"/dev/nvidia<number> (owner, mode, devices of its container)?",
			gpu->error, call_of(gpu));
}

static int tell_lost(struct gpu_state *state, const struct gpu_reading *gpu)
{
	const bool lost = gpu->result == NVML_GPU_IS_LOST;
	const struct gpu_words words = { .check = "gpu.lost", .value = lost, .code = "device-lost" };

	/* If it does not answer at all or access is refused, nothing is known about it. */
	if (gpu->stuck || gpu->skipped || is_refused(gpu))
		return 0;
	if (lost)
		return gpu_tell(state, gpu->subject, &words, FINDING_FATAL,
				"lost: it fell off the bus (NVML: %s, at %s, call %s)", gpu->error,
				gpu->pci[0] ? gpu->pci : "an unknown address", call_of(gpu));
	return gpu_tell(state, gpu->subject, &words, FINDING_GOOD, "present, at %s",
			gpu->pci[0] ? gpu->pci : "an unknown address");
}

/* --- start-up time --------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The median of all GPUs queried; one that has not started counts with its time so far. */
static uint64_t median_start_us(const struct gpus *gpus)
{
	uint64_t starts[GPU_MAX];
	size_t n = 0, i;

	for (i = 0; i < gpus->n && n < GPU_MAX; i++) {
		if (!gpus->all[i].skipped)
			starts[n++] = gpus->all[i].start_us;
	}
	qsort(starts, n, sizeof(starts[0]), by_number);
	return n ? starts[(n - 1) / 2] : 0;
}

/* Relative to the others, because GPUs that start one after the other wait for each other. */
static bool is_slow_to_start(const struct gpu_state *state, const struct gpu_reading *gpu)
{
	const uint64_t least = gpu->starting && gpu->cut ? 0 : (uint64_t)GPU_SLOW_START_US;

	return gpu->start_us > least &&
	       gpu->start_us > GPU_SLOW_START_TIMES * median_start_us(state->gpus);
}

static unsigned n_started(const struct gpus *gpus)
{
	unsigned n = 0;
	size_t i;

	for (i = 0; i < gpus->n; i++)
		n += !gpus->all[i].starting && !gpus->all[i].skipped;
	return n;
}

static int tell_starting(struct gpu_state *state, const struct gpu_reading *gpu)
{
	const struct gpu_words slow = { .check = "gpu.nvml", .code = "slow-start" };
	const struct gpu_words words = { .check = "gpu.nvml" };
	const double s = (double)gpu->start_us * 1e-6;
	const unsigned n = n_started(state->gpus), all = (unsigned)state->gpus->n;

	if (is_slow_to_start(state, gpu) || (all == 1 && !gpu->cut))
		return gpu_tell(state, gpu->subject, &slow, gpu->cut ? FINDING_INFO : FINDING_WARN,
				"slow to start: it had not started after %.1f s, when %u of %u "
				"GPUs had",
				s, n, all);
	/* Most have started: it is late, but not by much. */
	if (n > all / 2)
		return gpu_tell(state, gpu->subject, &slow, FINDING_NOTE,
				"slow to start: still starting after %.1f s, when %u of %u GPUs "
				"had started",
				s, n, all);
	return gpu_tell(state, gpu->subject, &words, FINDING_NOTE,
			"still starting after %.1f s: %u of %u GPUs had started", s, n, all);
}

/* With several GPUs, does the driver answer for none? Then no single GPU is at fault. */
static bool is_all_stuck(const struct gpus *gpus)
{
	size_t i = 0;

	while (i < gpus->n && gpus->all[i].stuck && !gpus->all[i].cut && !gpus->all[i].starting)
		i++;
	return i == gpus->n && gpus->n > 1;
}

static int tell_all_stuck(struct gpu_state *state)
{
	const struct gpu_words words = { .check = "gpu.nvml", .code = "nvml-stuck" };

	return gpu_tell(state, "host", &words, FINDING_FAIL,
			"the driver does not answer for any of %zu GPUs: %s took more than %d s",
			state->gpus->n, call_of(&state->gpus->all[0]), GPU_CALL_US / 1000000);
}

static int tell_whole(struct gpu_state *state, const struct gpu_reading *gpu)
{
	struct gpu_words words = { .check = "gpu.nvml", .value = 1 };

	words.code = "slow-start";
	if (is_slow_to_start(state, gpu))
		return gpu_tell(state, gpu->subject, &words, FINDING_INFO,
				"slow to start: %.1f s, half of the GPUs took at most %.1f s",
				(double)gpu->start_us * 1e-6,
				(double)median_start_us(state->gpus) * 1e-6);
	words.code = "nvml-slow";
	if (gpu->slow)
		return gpu_tell(state, gpu->subject, &words, FINDING_INFO,
				"the driver answers slowly: %s took more than %d s", gpu->slow,
				GPU_CALL_US / 1000000);
	return gpu_tell(state, gpu->subject, &words, FINDING_GOOD, "the driver answers%s%s%s%s",
			state->gpus->driver[0] ? ", version " : "", state->gpus->driver,
			gpu->serial[0] ? ", serial number " : "", gpu->serial);
}

static int tell_answers(struct gpu_state *state, const struct gpu_reading *gpu)
{
	struct gpu_words words = { .check = "gpu.nvml" };

	if (gpu->skipped)
		return gpu_tell(state, gpu->subject, &words, FINDING_NOTE,
				"not queried: there was no thread for it");
	if (gpu->starting)
		return tell_starting(state, gpu);
	if (gpu->stuck && gpu->cut)
		return gpu_tell(state, gpu->subject, &words, FINDING_NOTE,
				"queried only in part: the driver answers slowly, %s had not "
				"returned when time ran out",
				call_of(gpu));
	if (gpu->stuck && is_all_stuck(state->gpus))
		return 0; /* reported for the host */
	if (gpu->stuck) {
		words.code = "nvml-stuck";
		return gpu_tell(state, gpu->subject, &words, FINDING_FAIL,
				"the driver does not answer: %s took more than %d s", call_of(gpu),
				GPU_CALL_US / 1000000);
	}
	if (is_refused(gpu))
		return tell_refused(state, gpu);
	if (gpu->result == NVML_RESET_REQUIRED) {
		words.code = "reset-required";
		return gpu_tell(state, gpu->subject, &words, FINDING_FAIL,
				"it must be reset before it can be used (NVML: %s, call %s)",
				gpu->error, call_of(gpu));
	}
	if (gpu->result != NVML_OK && gpu->result != NVML_GPU_IS_LOST) {
		words.code = "nvml-error";
		return gpu_tell(state, gpu->subject, &words, FINDING_WARN,
				"the driver refuses it: %s (call %s)", gpu->error, call_of(gpu));
	}
	if (gpu->result != NVML_OK)
		return 0; /* reported as gpu.lost */
	return tell_whole(state, gpu);
}

/* Reported by an event that names no GPU; not if one of them was found lost. */
static int tell_unnamed(struct gpu_state *state)
{
	static const struct gpu_words words = { .check = "gpu.lost",
						.value = 1,
						.code = "device-lost" };
	size_t i;

	for (i = 0; i < state->gpus->n; i++) {
		if (state->gpus->all[i].result == NVML_GPU_IS_LOST)
			return 0;
	}
	if (!state->gpus->unnamed_lost)
		return 0;
	return gpu_tell(state, "host", &words, FINDING_FAIL,
			"a GPU fell off the bus during the check, and the driver does not say "
			"which (call nvmlEventSetWait_v2)");
}

int gpu_presence(struct gpu_state *state)
{
	static const struct gpu_words stuck = { .check = "gpu.nvml", .code = "nvml-stuck" };
	static const struct gpu_words slow = { .check = "gpu.nvml" };
	CLEANUP(freep) struct known *now = xcalloc(GPU_MAX + 1, sizeof(*now));
	CLEANUP(freep) struct known *lost = xcalloc(KNOWN_MAX, sizeof(*lost));
	size_t n_nameless = name_all(state), n_now = know_all(state, now), n, i;
	int r = 0;

	n = known_lost(json_object_get(state->past, "known"), now, n_now, lost, KNOWN_MAX);
	(void)json_object_set_new(state->next, "known", known_encode(now, n_now, lost, n));
	keep(state, lost, n);
	if (state->gpus->stuck_at && state->gpus->cut)
		r = gpu_tell(state, "host", &slow, FINDING_NOTE,
			     "the driver answers slowly: %s had not returned when time ran out",
			     state->gpus->stuck_at);
	else if (state->gpus->stuck_at)
		r = gpu_tell(state, "host", &stuck, FINDING_FAIL,
			     "the driver does not answer: %s took more than %d s",
			     state->gpus->stuck_at, GPU_CALL_US / 1000000);
	/* The driver hung before the first GPU was read, so they are not lost. */
	if (state->gpus->stuck_at && state->gpus->n == 0)
		return r;
	if (r == 0 && is_all_stuck(state->gpus))
		r = tell_all_stuck(state);
	if (r == 0)
		r = tell_unnamed(state);
	for (i = 0; i < state->gpus->n && r == 0; i++) {
		r = tell_lost(state, &state->gpus->all[i]);
		if (r == 0)
			r = tell_answers(state, &state->gpus->all[i]);
	}
	/* A GPU without a name may be any of the missing ones. */
	for (i = 0; i < n && n_nameless == 0 && r == 0; i++)
		r = tell_gone(state, &lost[i]);
	return r == 0 && n_nameless == 0 ? gpu_bus(state, lost, n) : r;
}
