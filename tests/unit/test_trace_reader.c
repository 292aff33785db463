/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "attribution/progress.h"
#include "attribution/trace.h"
#include "attribution/trace_build.h"
#include "attribution/trace_reader.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "tests/unit/test.h"

enum { ALL = 100000000, TEXT_MAX = 64 * 1024 * 1024 };

#define META(dp, pp, world)                                                                       \
	"{\"type\":\"meta\",\"format\":\"optrace/1\",\"job\":\"j\",\"dp_size\":" #dp              \
	",\"pp_size\":" #pp ",\"tp_size\":1,\"vpp_size\":1,\"dsp_size\":1,\"world_size\":" #world \
	",\"time_unit\":\"s\"}\n"

/* Lines of `steps` steps of two workers, each of `n` forward computes. */
static void add_steps(struct strbuf *text, int steps, int n)
{
	int step, d, i;

	for (step = 0; step < steps; step++) {
		for (d = 0; d < 2; d++) {
			for (i = 0; i < n; i++)
				(void)strbuf_printf(
					text,
					"{\"step\":%d,\"dp_rank\":%d,\"stage\":0,\"rank\":%d,"
					"\"optype\":\"forward-compute\",\"seq_id\":%d,\"mb_id\":%d,"
					"\"mc\":0,\"gmc\":0,\"start_ts\":%d.%09d,\"duration\":0.5}"
					"\n",
					step, d, d, i, i, i, d * 1000 + step);
		}
	}
}

static int read_file(const char *path, const char *meta, struct trace **ret, struct err *err)
{
	CLEANUP(trace_reader_freep) struct trace_reader *reader = NULL;
	int r = trace_reader_open(path, meta, &reader, err);

	return r < 0 ? r : trace_reader_next(reader, ALL, ret, err);
}

static int read_text(const char *text, struct trace **ret, struct err *err)
{
	CLEANUP(freep) char *path = test_file("trace.jsonl", text);

	return read_file(path, NULL, ret, err);
}

static void a_file_becomes_a_trace(void)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	CLEANUP(trace_freep) struct trace *trace = NULL;
	struct err err = ERR_INIT;
	size_t k, lane;

	(void)strbuf_puts(&text, META(2, 1, 2));
	add_steps(&text, 5, 4000); /* longer than a block */
	CHECK_EQ(read_text(strbuf_text(&text), &trace, &err), 1);
	CHECK_STR(err.msg, "");
	if (!trace)
		return;
	CHECK_EQ(trace->n_keys, 4000);
	CHECK_EQ(trace->n_lanes, 10);
	for (k = 0; k < trace->n_keys; k++) {
		for (lane = 0; lane < 10; lane++)
			CHECK_NEAR(trace_row(trace, trace->start, k)[lane],
				   (double)k + (double)(lane % 2) * 1e-6, 1e-12);
	}
}

/* Files of one job that were put together have it again; the first line of another is none. */
static void the_first_line_may_come_again(void)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	CLEANUP(trace_freep) struct trace *trace = NULL;
	struct err err = ERR_INIT;

	(void)strbuf_puts(&text, META(2, 1, 2) META(2, 1, 2));
	add_steps(&text, 3, 2);
	(void)strbuf_puts(&text, META(2, 1, 2));
	CHECK_EQ(read_text(strbuf_text(&text), &trace, &err), 1);
	CHECK(trace && trace->n_keys == 2);
	(void)strbuf_puts(&text, META(2, 2, 2));
	CHECK_EQ(read_text(strbuf_text(&text), &trace, &err), -EINVAL);
	CHECK_HAS(err.msg, "step is missing");
}

static void the_last_line_needs_no_end(void)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	CLEANUP(trace_freep) struct trace *trace = NULL;
	struct err err = ERR_INIT;

	(void)strbuf_puts(&text, META(2, 1, 2));
	add_steps(&text, 3, 2);
	text.data[text.len - 1] = '\0';
	CHECK_EQ(read_text(strbuf_text(&text), &trace, &err), 1);
	CHECK(trace && trace->n_keys == 2);
}

static void the_first_wrong_line_is_named(void)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	int i;

	(void)strbuf_puts(&text, META(2, 1, 2));
	add_steps(&text, 5, 10000); /* 100,000 lines, many blocks */
	for (i = 0; i < 20; i++) {
		CLEANUP(freep) char *copy = xstrdup(strbuf_text(&text)), *want = NULL;
		CLEANUP(trace_freep) struct trace *trace = NULL;
		struct err err = ERR_INIT;
		char *at = copy;
		int line;

		/* All lines from here on are wrong. */
		for (line = 1; line < 5000 * i + 3; line++)
			at = strchr(at, '\n') + 1;
		for (; *at; at = strchr(at, '\n') + 1)
			*at = '?';
		want = xasprintf("trace.jsonl: line %d: not a valid JSON object", line);
		CHECK_EQ(read_text(copy, &trace, &err), -EINVAL);
		CHECK_HAS(err.msg, want);
	}
}

static void bad_input_is_told_with_its_line(void)
{
#define OP(step, d, seq, duration)                                                              \
	"{\"step\":" #step ",\"dp_rank\":" #d ",\"stage\":0,\"optype\":\"gc\",\"seq_id\":" #seq \
	",\"start_ts\":0,\"duration\":" #duration "}\n"
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "", "empty: this is not a trace" },
		{ "\n", "line 1: empty" },
		{ "{}\n", "line 1: dp_size: missing" },
		{ "{\"dp_size\":1,\"pp_size\":1,\"world_size\":1}\n", "line 1: no meta line" },
		{ "{\"type\":\"meta\",\"format\":\"optrace/"
		  "2\",\"dp_size\":1,\"pp_size\":1,\"world_size\":1}\n",
		  "line 1: format: 'optrace/2' is not optrace/1" },
		{ "\x1f\x8b", "too early" },
		{ "hello\n", "line 1: neither the meta line" },
		{ "{\"type\":\n", "line 1" },
		{ META(2, 1, 3),
		  "world_size: 3 is not dp_size * pp_size * tp_size * dsp_size = 2" },
		{ META(0, 1, 0), "dp_size: 0 is outside" },
		{ META(1, 1, 1), "no operation" },
		{ META(1, 1, 1) OP(1, 0, 0, 1) OP(1, 0, 1, -1), "line 3: duration: -1 is outside" },
		{ META(1, 1, 1) OP(1, 0, 0, 1) "\n" OP(1, 1, 0, 1),
		  "line 4: dp_rank: 1 is outside" },
		{ META(1, 1, 1) OP(1, 0, 0, NaN), "line 2: duration: 'NaN' is not a number" },
		{ META(1, 1, 1) OP(1, 0, 0, 1) OP(2, 0, 0, 1) OP(3, 0, 0, 1) OP(1, 0, 0, 2),
		  "line 5" },
		{ META(1, 1, 1) OP(1, 0, 0, 1) OP(2, 0, 0, 1), "at least 3" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(trace_freep) struct trace *trace = NULL;
		struct err err = ERR_INIT;

		CHECK(read_text(rows[i].text, &trace, &err) < 0);
		CHECK_HAS(err.msg, "trace.jsonl: ");
		CHECK_HAS(err.msg, rows[i].says);
	}
}

/* What a thread writes into a pipe, however long; it ends when nobody reads. */
struct flood {
	int fd;
	const char *head, *piece;
	size_t times, written;
};

static void *write_flood(void *argument)
{
	struct flood *flood = argument;
	size_t i, length = strlen(flood->piece);

	if (file_write_all(flood->fd, flood->head, strlen(flood->head)) < 0)
		return NULL;
	for (i = 0; i < flood->times; i++) {
		if (file_write_all(flood->fd, flood->piece, length) < 0)
			break;
		flood->written += length;
	}
	(void)close(TAKE_FD(flood->fd));
	return NULL;
}

static int read_flood(struct flood *flood, struct trace **ret, struct err *err)
{
	CLEANUP(freep) char *path = NULL;
	pthread_t thread;
	int ends[2], r;

	CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
	flood->fd = ends[1];
	path = xasprintf("/proc/self/fd/%d", ends[0]);
	CHECK_EQ(pthread_create(&thread, NULL, write_flood, flood), 0);
	r = read_file(path, NULL, ret, err);
	(void)close(ends[0]);
	(void)pthread_join(thread, NULL);
	return r;
}

static void a_line_without_end_is_not_read_to_its_end(void)
{
	static const char *const heads[] = { "", META(1, 1, 1) "{\"step\":1,\"x\":\"" };
	static const char *const says[] = { "line 1: longer than 33554432 bytes",
					    "line 2: longer than 65536 bytes" };
	CLEANUP(freep) char *piece = xcalloc(1, 1000001);
	size_t i;

	memset(piece, 'x', 1000000);
	for (i = 0; i < ARRAY_SIZE(heads); i++) {
		struct flood flood = { .head = heads[i], .piece = piece, .times = 1000 };
		CLEANUP(trace_freep) struct trace *trace = NULL;
		struct err err = ERR_INIT;

		CHECK_EQ(read_flood(&flood, &trace, &err), -EINVAL);
		CHECK_HAS(err.msg, says[i]);
		CHECK(flood.written < 50000000);
	}
}

static void windows_take_whole_steps(void)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	CLEANUP(trace_reader_freep) struct trace_reader *reader = NULL;
	CLEANUP(freep) char *path = NULL;
	struct err err = ERR_INIT;
	size_t steps = 0, windows = 0;
	struct trace *trace;
	int r;

	(void)strbuf_puts(&text, META(2, 1, 2));
	add_steps(&text, 40, 1000);
	path = test_file("windows.jsonl", strbuf_text(&text));
	CHECK_EQ(trace_reader_open(path, NULL, &reader, &err), 0);
	while ((r = trace_reader_next(reader, 20000, &trace, &err)) == 1) {
		CHECK_EQ(trace->n_keys, 1000);
		CHECK_EQ(trace->window, windows);
		CHECK_EQ(trace->steps[0], steps);
		steps += trace->n_steps;
		windows++;
		trace_free(trace);
	}
	CHECK_EQ(r, 0);
	CHECK_STR(err.msg, "");
	CHECK_EQ(steps, 40);
	CHECK(windows > 2);
	CHECK_EQ(trace_reader_count(reader), 80000);
}

static void a_csv_needs_the_file_beside_it(void)
{
	static const char csv[] = "step,dp_rank,stage,rank,optype,seq_id,start_ts,duration\n"
				  "1,0,0,8,gc,0,0,1\n2,0,0,8,gc,0,0,1\n3,0,0,8,gc,0,0,1\n";
	CLEANUP(freep) char *path = test_file("a.csv", csv);
	CLEANUP(freep)
	char *meta = test_file("a.yaml", "trial_name: 12\nrun_id: 0\ndp_size: 1\n"
					 "dsp_size: 3\npp_size: 1\ntp_size: 3\n"
					 "vpp_size: 1\nworld_size: 9\n");
	CLEANUP(freep) char *wrong = test_file("b.yaml", "dp_size: 1\npp_size: 2\nworld_size: 1\n");
	CLEANUP(trace_freep) struct trace *trace = NULL;
	struct err err = ERR_INIT;

	CHECK_EQ(read_file(path, NULL, &trace, &err), -EINVAL);
	CHECK_HAS(err.msg,
		  "a.csv: a CSV does not state the shape of its job: give --meta FILE.yaml");
	CHECK_EQ(read_file(path, wrong, &trace, &err), -EINVAL);
	CHECK_HAS(err.msg, "b.yaml: world_size: 1 is not");
	CHECK_EQ(read_file(path, meta, &trace, &err), 1);
	if (!trace)
		return;
	CHECK_STR(trace->job.name, "12");
	CHECK_EQ(trace->job.workers[0].rank, 8);
	CHECK_STR(trace->job.nodes[trace->job.workers[0].node], "n001");
}

static void published_traces_are_read_whole(void)
{
	static const struct {
		const char *name;
		size_t keys, steps, lanes;
	} rows[] = {
		{ "ST", 106, 32, 64 },
		{ "SE", 78, 43, 1376 },
		{ "AR", 666, 44, 176 },
	};
	CLEANUP(freep) char *beside = test_source("../shared/traces");
	const char *dir = secure_getenv("ASSAY_TRACES");
	size_t i;

	if (!dir)
		dir = beside;
	if (access(dir, R_OK) < 0) {
		test_skip("no published traces: ASSAY_TRACES names no directory of them");
		return;
	}
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *path = xasprintf("%s/trace-%s.csv.gz", dir, rows[i].name);
		CLEANUP(freep) char *meta = xasprintf("%s/meta-%s.yaml", dir, rows[i].name);
		CLEANUP(trace_freep) struct trace *trace = NULL;
		struct err err = ERR_INIT;

		CHECK_EQ(read_file(path, meta, &trace, &err), 1);
		CHECK_STR(err.msg, "");
		if (!trace)
			continue;
		CHECK_STR(trace->job.name, rows[i].name);
		CHECK_EQ(trace->n_keys, rows[i].keys);
		CHECK_EQ(trace->n_steps, rows[i].steps);
		CHECK_EQ(trace->n_lanes, rows[i].lanes);
	}
}

static void the_bar_fits_the_terminal(void)
{
	struct progress progress = { .what = "job.jsonl" };
	char text[PROGRESS_SIZE];

	progress_text(&progress, 50, 200, 1500000, 100, text);
	CHECK_STR(text, "[######..................]  25 %  1.5 million operations  job.jsonl");
	progress_text(&progress, 50, 200, 1500000, 31, text);
	CHECK_STR(text, "[######..................]  25");
	progress_text(&progress, 2500000, 0, 0, 100, text);
	CHECK_STR(text, "2.5 MB  0.0 million operations  job.jsonl");
	progress_text(&progress, 300, 200, 0, 100, text);
	CHECK_HAS(text, "100 %");
}

static const struct test tests[] = {
	TEST(a_file_becomes_a_trace),	       TEST(the_first_line_may_come_again),
	TEST(the_last_line_needs_no_end),      TEST(the_first_wrong_line_is_named),
	TEST(bad_input_is_told_with_its_line), TEST(a_line_without_end_is_not_read_to_its_end),
	TEST(windows_take_whole_steps),	       TEST(a_csv_needs_the_file_beside_it),
	TEST(published_traces_are_read_whole), TEST(the_bar_fits_the_terminal),
};

static void ignore_sigpipe(void)
{
	(void)signal(SIGPIPE, SIG_IGN); /* a writer whose reader has gone is told by write() */
}

TEST_SUITE(tests, .begin = ignore_sigpipe);
