/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/cell.h"

#include <inttypes.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "probes/harness/probe.h"
#include "probes/memory/buffer.h"
#include "probes/memory/contention.h"
#include "probes/memory/numa.h"
#include "probes/memory/rate.h"
#include "probes/memory/ready.h"
#include "probes/memory/team.h"
#include "probes/memory/verify.h"

const char *const cell_check_names[CELL_CHECKS] = {
	[KERNEL_READ] = "memory.read_bw",  [KERNEL_WRITE] = "memory.write_bw",
	[KERNEL_COPY] = "memory.copy_bw",  [KERNEL_TRIAD] = "memory.triad_bw",
	[CELL_PATTERN] = "memory.pattern",
};

static struct sample new_sample(const struct numa_node *cpu, const struct numa_node *memory,
				unsigned check)
{
	struct sample s = sample_init();

	s.check = xstrdup(cell_check_names[check]);
	s.subject = xasprintf("numa:%u>numa:%u", cpu->id, memory->id);
	s.unit = xstrdup(check == CELL_PATTERN ? "1" : "B/s");
	s.better = check == CELL_PATTERN ? BETTER_LOWER : BETTER_HIGHER;
	s.from = xasprintf("numa:%u", cpu->id);
	s.to = xasprintf("numa:%u", memory->id);
	s.locality = xstrdup(cpu->id == memory->id ? "node" : "sys");
	return s;
}

/* Everything that must be equal for two samples of this probe to be comparable. */
static json_t *params_of(const struct cell *cell, unsigned check)
{
	json_t *params = json_pack("{s:I, s:I, s:s}", "size", (json_int_t)cell->ready->array_bytes,
				   "threads", (json_int_t)team_size(cell->arena->team), "pages",
				   cell->ready->pages);

	if (check == CELL_PATTERN)
		return params;
	(void)json_object_set_new(params, "stores", json_string(cell->kernel->stores));
	(void)json_object_set_new(params, "kernel", json_string(cell->kernel->name));
	return params;
}

/* A note about the rate for people; NULL if there is nothing to say. */
static char *rate_note(const struct ready *ready)
{
	if (ready->cached)
		return xstrdup("such small arrays fit largely in caches: there is too little "
			       "free memory for larger ones");
	if (!ready->settled)
		return xstrdup("no two array sizes agreed within 3 %: caches may have helped");
	return NULL;
}

static int measure_rate(struct cell *cell, unsigned check, uint64_t us, struct sample *s)
{
	struct rate rate;
	int r = rate_measure(cell->arena, cell->kernel, check, us, &rate);

	if (r < 0)
		return r;
	sample_set_windows(s, rate.windows, rate.n);
	s->seconds = rate.seconds;
	s->note = rate_note(cell->ready);
	if (cell->rate <= 0 || s->value < cell->rate)
		cell->rate = s->value;
	return 0;
}

static void describe_fault(const struct verify *v, struct sample *s)
{
	s->severity = v->reproduced ? SEVERITY_FATAL : SEVERITY_WARN;
	s->code = xstrdup(v->reproduced ? "pattern:reproduced" : "pattern:once");
	s->note = xasprintf(
		"%" PRIu64 " of %" PRIu64 " words were wrong; the first, at offset 0x%" PRIx64
		" of array %zu: expected 0x%016" PRIx64 ", got 0x%016" PRIx64 "; %s",
		v->fault.wrong, v->words, v->offset, v->array, v->fault.expected, v->fault.got,
		v->reproduced ? "wrong again with other values"
			      : "correct when retried with other values");
}

static int measure_pattern(struct cell *cell, uint64_t us, struct sample *s)
{
	struct verify v;
	int r = verify_arena(cell->arena, cell->probe->seed, us, cell->rate, NULL, &v);

	if (r == 0 && v.words == 0)
		r = -ETIME;
	if (r < 0)
		return r;
	s->value = (double)v.fault.wrong;
	s->ok = v.fault.wrong ? TRI_NO : TRI_YES;
	s->n = v.words;
	s->seconds = v.seconds;
	if (v.fault.wrong)
		describe_fault(&v, s);
	return 0;
}

/* Remove the result and keep only what was to be measured, with the reason. */
static void take_back(const struct cell *cell, unsigned check, int state, char *why,
		      struct sample *s)
{
	sample_release(s);
	*s = new_sample(cell->cpu, cell->memory, check);
	s->params = params_of(cell, check);
	s->state = state;
	s->note = why;
}

/* Contended is busy. But a wrong word is wrong, whoever else was there. */
static void judge_contention(struct cell *cell, unsigned check, const struct stint *from,
			     struct sample *s)
{
	CLEANUP(freep) char *why = NULL;

	if (check == CELL_PATTERN)
		return;
	why = contention_since(cell->contention, from, cell->arena->team, cell->cpu);
	if (!why)
		return;
	if (!cell->probe->run_busy) {
		take_back(cell, check, SAMPLE_BUSY, TAKE(why), s);
		return;
	}
	free(s->note);
	s->note = TAKE(why);
}

int cell_measure(struct cell *cell, unsigned check, uint64_t us)
{
	struct sample s = new_sample(cell->cpu, cell->memory, check);
	struct stint from;
	int r;

	from = contention_stint(cell->contention, cell->arena->team, cell->cpu);
	s.params = params_of(cell, check);
	s.start = (double)clock_real_us() / (double)USEC_PER_SEC;
	r = check == CELL_PATTERN ? measure_pattern(cell, us, &s)
				  : measure_rate(cell, check, us, &s);
	if (r < 0)
		take_back(cell, check, SAMPLE_TIMEOUT,
			  xstrdup("the budget left too little time for this check"), &s);
	else
		judge_contention(cell, check, &from, &s);
	return probe_emit(cell->probe, &s);
}

int cell_emit_all(struct probe *probe, const struct numa_node *cpu, const struct numa_node *memory,
		  int state, const char *why)
{
	unsigned check;

	for (check = 0; check < CELL_CHECKS; check++) {
		struct sample s = new_sample(cpu, memory, check);
		int r;

		s.state = state;
		s.note = xstrdup(why);
		r = probe_emit(probe, &s);
		if (r < 0)
			return r;
	}
	return 0;
}
