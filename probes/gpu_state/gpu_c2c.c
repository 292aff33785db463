/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All links of a GPU should be active; if none is and none ever was, C2C may be disabled. The
 * expected speed is that of an earlier run, and of other GPUs of its model on this host.
 */
#include "probes/gpu_state/gpu_c2c.h"

#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "probes/gpu_state/gpu_state.h"

#define GB_PER_MB 1e-3

enum { NAMES_MAX = 256, C2C_MB_S_MAX = 10000000 };

/* Name the links that are down, or slower than `mb_s`; returns their number. */
static unsigned name_links(const struct gpu_reading *gpu, bool down, unsigned mb_s,
			   struct strbuf *ret)
{
	unsigned n = 0, i;

	for (i = 0; i < gpu->n_c2c; i++) {
		const struct gpu_c2c *link = &gpu->c2c[i];

		if (down ? link->active : !link->active || !link->mb_s || link->mb_s >= mb_s)
			continue;
		(void)strbuf_printf(ret, "%s%u", n++ ? ", " : "", i);
	}
	return n;
}

static int tell(struct gpu_state *state, const struct gpu_reading *gpu)
{
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT(NAMES_MAX);
	const unsigned active = gpu_state_c2c_links(gpu), mb_s = gpu_state_c2c_speed(gpu);
	const unsigned usual_links =
		gpu_state_usual(state, gpu, "c2c", C2C_MB_S_MAX, gpu_state_c2c_links);
	const unsigned usual_mb_s =
		gpu_state_usual(state, gpu, "c2c_mb_s", C2C_MB_S_MAX, gpu_state_c2c_speed);
	struct gpu_words words = { .check = "gpu.c2c", .value = active, .code = "c2c-down" };
	unsigned slow;

	if (active == 0 && usual_links == 0)
		return gpu_tell(state, gpu->subject, &words, FINDING_NOTE,
				"none of its %u C2C links is active, and none was in an earlier "
				"run",
				gpu->n_c2c);
	if (name_links(gpu, true, 0, &names) > 0 || active < usual_links)
		return gpu_tell(state, gpu->subject, &words, FINDING_FAIL,
				"%u C2C links to its processor are active of %u; down: %s", active,
				MAX(gpu->n_c2c, usual_links),
				*strbuf_text(&names) ? strbuf_text(&names) : "not shown");
	/* Drivers round differently, but not by as much as a tenth. */
	slow = name_links(gpu, false, usual_mb_s - usual_mb_s / 10, &names);
	words.code = "c2c-slow";
	if (slow > 0)
		return gpu_tell(state, gpu->subject, &words, FINDING_WARN,
				"%u of %u C2C links run slower than %.6g GB/s, which others of its "
				"model or these themselves did: %s",
				slow, active, usual_mb_s * GB_PER_MB, strbuf_text(&names));
	if (mb_s == 0)
		return gpu_tell(state, gpu->subject, &words, FINDING_GOOD,
				"%u C2C links to its processor are active", active);
	return gpu_tell(state, gpu->subject, &words, FINDING_GOOD,
			"%u C2C links to its processor are active at %.6g GB/s", active,
			mb_s * GB_PER_MB);
}

int gpu_c2c(struct gpu_state *state)
{
	size_t i;
	int r = 0;

	for (i = 0; i < state->gpus->n && r == 0; i++) {
		const struct gpu_reading *gpu = &state->gpus->all[i];

		/* A GPU without any now may have had some. */
		if (gpu_is_whole(gpu) && gpu->knows_c2c &&
		    (gpu->n_c2c > 0 ||
		     gpu_state_usual(state, gpu, "c2c", C2C_MB_S_MAX, gpu_state_c2c_links) > 0))
			r = tell(state, gpu);
	}
	return r;
}
