/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome trace format, for Perfetto and chrome://tracing. A DP rank has two processes, one below
 * the other: as recorded, and with the ideal cost of every operation. A stage has a thread for
 * computes and one for each kind of transfer, since these overlap. A transfer is drawn in two
 * parts: waiting until all members have started, and the transfer itself.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "attribution/form_kinds.h"
#include "attribution/replay.h"
#include "attribution/words.h"
#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

enum {
	OPS_MAX = 150000, /* of each kind of process: as many as browsers can open */
	LANES = 6,	  /* threads per stage */
	WINDOW_PIDS = 1 << 20,
	WORDS_MAX = 4096,
};

#define MICRO 1e6
#define GAP 1.02 /* from one step to the next, relative to the longer one */

static const char *const lane_names[LANES] = {
	"compute", "forward send", "forward recv", "backward send", "backward recv", "collectives",
};

static int lane_of(enum optype type)
{
	switch (type) {
	case OP_FORWARD_SEND:
		return 1;
	case OP_FORWARD_RECV:
		return 2;
	case OP_BACKWARD_SEND:
		return 3;
	case OP_BACKWARD_RECV:
		return 4;
	default:
		return optype_is_communication(type) ? 5 : 0;
	}
}

struct drawing {
	const struct attribution *a;
	FILE *out;
	size_t window;
	const char *comma;
};

static void put_text(struct drawing *drawing, const char *text)
{
	CLEANUP(freep) char *clean = utf8_clean(text);
	CLEANUP(json_freep) json_t *string = json_string(clean);

	(void)json_dumpf(string, drawing->out, JSON_ENCODE_ANY);
}

static void begin_event(struct drawing *drawing)
{
	(void)fprintf(drawing->out, "%s\n", drawing->comma);
	drawing->comma = ",";
}

static size_t pid_of(const struct drawing *drawing, size_t d, int ideal)
{
	return drawing->window * WINDOW_PIDS + 2 * d + (size_t)ideal + 1;
}

static void name_thread(struct drawing *drawing, size_t pid, size_t stage, int lane)
{
	size_t tid = stage * LANES + (size_t)lane + 1;

	begin_event(drawing);
	(void)fprintf(
		drawing->out,
		"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%zu,\"tid\":%zu,\"args\":"
		"{\"name\":\"stage %zu %s\"}},\n"
		"{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%zu,\"tid\":%zu,\"args\":"
		"{\"sort_index\":%zu}}",
		pid, tid, stage, lane_names[lane], pid, tid, tid);
}

static void name_process(struct drawing *drawing, size_t d, int ideal)
{
	const struct trace *trace = drawing->a->trace;
	size_t pid = pid_of(drawing, d, ideal), key;
	CLEANUP(freep) bool *seen = xcalloc((size_t)trace->job.pp * LANES, sizeof(*seen));

	begin_event(drawing);
	(void)fprintf(drawing->out,
		      "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%zu,\"args\":{\"name\":\"dp "
		      "%zu %s\"}},\n"
		      "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%zu,\"args\":{\"sort_"
		      "index\":%zu}}",
		      pid, d, ideal ? "ideal" : "as recorded", pid, pid);
	for (key = 0; key < trace->n_keys; key++) {
		size_t stage = trace->keys[key].stage;
		int lane = lane_of((enum optype)trace->keys[key].type);

		if (!seen[stage * LANES + (size_t)lane])
			name_thread(drawing, pid, stage, lane);
		seen[stage * LANES + (size_t)lane] = true;
	}
}

struct span {
	const struct trace_key *key;
	size_t pid;
	double start, end; /* microseconds */
	bool waits;
};

static void draw_span(struct drawing *drawing, const struct span *span, int64_t step)
{
	const struct trace_key *key = span->key;
	int lane = lane_of((enum optype)key->type);

	begin_event(drawing);
	(void)fprintf(drawing->out,
		      "{\"ph\":\"X\",\"name\":\"%s%s\",\"cat\":\"%s\",\"pid\":%zu,\"tid\":%zu,"
		      "\"ts\":%.3f,\"dur\":%.3f%s,\"args\":{\"step\":%" PRId64 ",\"seq\":%" PRIu32,
		      span->waits ? "wait for " : "", optype_name((enum optype)key->type),
		      lane == 0	    ? "compute"
		      : span->waits ? "waiting"
				    : "transfer",
		      span->pid, (size_t)key->stage * LANES + (size_t)lane + 1, span->start,
		      MAX(span->end - span->start, 0.0), span->waits ? ",\"cname\":\"grey\"" : "",
		      step, key->seq);
	if (key->mb >= 0)
		(void)fprintf(drawing->out, ",\"mb\":%d", key->mb);
	if (key->mc >= 0)
		(void)fprintf(drawing->out, ",\"chunk\":%d", key->mc);
	(void)fputs("}}", drawing->out);
}

/* Draw all operations of a step, `shift` seconds after the start of the drawing. */
static void draw_step(struct drawing *drawing, const struct replay *replay, int ideal, size_t step,
		      double shift)
{
	const struct trace *trace = drawing->a->trace;
	size_t dp = trace->job.dp, key, d;

	for (key = 0; key < trace->n_keys; key++) {
		for (d = 0; d < dp; d++) {
			size_t at = key * dp + d;
			double start = (shift + replay->start[at]) * MICRO;
			double ready = (shift + replay->ready[at]) * MICRO;
			double end = (shift + replay->end[at]) * MICRO;
			struct span span = { &trace->keys[key], pid_of(drawing, d, ideal), start,
					     MIN(ready, end), true };

			if (span.end > span.start)
				draw_span(drawing, &span, trace->steps[step]);
			span = (struct span){ &trace->keys[key], span.pid, MAX(span.end, start),
					      end, false };
			draw_span(drawing, &span, trace->steps[step]);
		}
	}
}

/* Number of steps that fit, from the first. */
static size_t steps_drawn(const struct trace *trace)
{
	size_t ops = trace->n_keys * trace->job.dp;

	return MIN(trace->n_steps, MAX((size_t)OPS_MAX / ops, (size_t)1));
}

static void draw_window(struct drawing *drawing)
{
	const struct attribution *a = drawing->a;
	const struct trace *trace = a->trace;
	CLEANUP(replay_release) struct replay ideal = replay_ideal(trace, a->graph, &a->cost);
	size_t n = steps_drawn(trace), step, d;
	double shift = 0;

	for (d = 0; d < trace->job.dp; d++) {
		name_process(drawing, d, 0);
		name_process(drawing, d, 1);
	}
	for (step = 0; step < n; step++) {
		CLEANUP(replay_release)
		struct replay recorded = replay_recorded(trace, a->graph, step);

		draw_step(drawing, &recorded, 0, step, shift);
		draw_step(drawing, &ideal, 1, step, shift);
		shift += GAP * MAX(a->slowdown.step_recorded[step], a->slowdown.ideal);
	}
}

/* Information about the trace that the viewer shows. */
static void put_summary(struct drawing *drawing)
{
	CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT(WORDS_MAX);
	const struct trace *trace = drawing->a->trace;

	words_write(drawing->a, &words);
	(void)fputs("\n],\n\"displayTimeUnit\":\"ms\",\n\"otherData\":{\"job\":", drawing->out);
	put_text(drawing, trace->job.name ? trace->job.name : "");
	(void)fputs(",\"summary\":", drawing->out);
	put_text(drawing, strbuf_text(&words));
	(void)fprintf(drawing->out, ",\"steps_drawn\":\"%zu of %zu\"}}\n", steps_drawn(trace),
		      trace->n_steps);
}

void form_timeline(const struct attribution *a, size_t i, bool more, FILE *out)
{
	struct drawing drawing = { a, out, i, i ? "," : "" };

	if (i == 0)
		(void)fputs("{\"traceEvents\":[", out);
	draw_window(&drawing);
	if (!more)
		put_summary(&drawing);
}
