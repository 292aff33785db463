/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/trace_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "attribution/input.h"
#include "attribution/line.h"
#include "attribution/line_csv.h"
#include "attribution/progress.h"
#include "attribution/trace.h"
#include "attribution/trace_build.h"
#include "attribution/trace_job.h"
#include "attribution/trace_meta.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"

enum {
	BLOCK_SIZE = 256 * 1024, /* fits a cache while its lines are parsed */
	THREADS_MAX = 4,
	BLANK_MAX = 16,		 /* blocks without operations: 4 MiB */
	FIRST_PIECE = 64 * 1024, /* first read, for the first line; becomes the first carry */
};

/* State of a thread. */
struct worker {
	struct trace_reader *reader;
	struct trace_part *part;
	struct line_reader lines;
	char *buffer; /* BLOCK_SIZE plus padding */
	bool leads;   /* draws the progress bar */
};

struct block {
	uint32_t number, line; /* line: where parsing is */
	size_t length;	       /* ends with a newline; 0: no block */
};

struct trace_reader {
	struct input *input;
	struct line_style style;
	char *head; /* the first line: concatenated files of one job repeat it */
	size_t head_length;
	struct trace_builder *builder;
	struct progress progress;
	size_t n_workers;
	struct worker workers[THREADS_MAX];

	pthread_mutex_t lock;	/* protects everything below */
	char carry[BLOCK_SIZE]; /* beginning of the line that the last block cut */
	size_t n_carry;
	uint32_t next_block;
	uint64_t n_ops;
	uint32_t n_blank;     /* consecutive blank blocks */
	double taken, target; /* operations held, estimated from bytes; and wanted */
	double line_bytes;    /* in the first block */
	bool at_end, built;
	int error; /* of the first bad line */
	uint32_t error_block, error_line;
	struct err why;
};

static void unlock(pthread_mutex_t **lock)
{
	(void)pthread_mutex_unlock(*lock);
}

static void lock_fail(struct trace_reader *reader, const struct block *block, int r,
		      const struct err *why)
{
	bool earlier = block->number < reader->error_block;

	if (reader->error && !earlier)
		return;
	reader->error = r;
	reader->error_block = block->number;
	reader->error_line = block->line;
	reader->why = *why;
}

static uint32_t count_lines(const char *bytes, size_t length)
{
	const char *at = bytes, *end = bytes + length;
	uint32_t n = 0;

	while ((at = memchr(at, '\n', (size_t)(end - at)))) {
		at++;
		n++;
	}
	return n;
}

/* Fill the buffer after the carry as far as there is input. */
static int fill(struct trace_reader *reader, char *buffer, size_t *length, struct err *err)
{
	size_t n = 1;
	int r = 0;

	while (r == 0 && *length < BLOCK_SIZE && n) {
		r = input_read(reader->input, buffer + *length, BLOCK_SIZE - *length, &n, err);
		if (r == 0)
			*length += n;
	}
	reader->at_end = r == 0 && n == 0;
	return r;
}

/* Cut after the last complete line; the rest is carried to the next block. */
static int cut(struct trace_reader *reader, char *buffer, size_t length, struct block *block,
	       struct err *err)
{
	const char *last = memrchr(buffer, '\n', length);
	size_t whole = last ? (size_t)(last + 1 - buffer) : 0;

	if (reader->at_end && whole < length) {
		buffer[length++] = '\n';
		whole = length;
	}
	if (whole == 0 && length > 0)
		return err_set(err, EINVAL, "longer than %d bytes", LINE_MAX_BYTES);
	reader->n_carry = length - whole;
	memcpy(reader->carry, buffer + whole, reader->n_carry);
	memset(buffer + whole, 0, LINE_PADDING);
	block->length = whole;
	return 0;
}

/*
 * How many operations a block has is known only after parsing, when other threads are parsing
 * later blocks. Estimate it from bytes, so that windows do not depend on timing.
 */
static void estimate(struct trace_reader *reader, const char *bytes, size_t length)
{
	if (reader->line_bytes <= 0)
		reader->line_bytes = (double)length / MAX(count_lines(bytes, length), 1u);
	reader->taken += (double)length / MAX(reader->line_bytes, 1.0);
}

/* Take the next block, if there is one and more operations are wanted. */
static struct block take_block(struct worker *worker)
{
	struct trace_reader *reader = worker->reader;
	CLEANUP(unlock) pthread_mutex_t *lock = &reader->lock;
	struct block block = { .line = 1 };
	struct err why = ERR_INIT;
	size_t length;
	int r;

	(void)pthread_mutex_lock(lock);
	if (worker->leads)
		progress_tell(&reader->progress, input_done(reader->input),
			      input_size(reader->input), reader->n_ops);
	if (reader->error || reader->at_end || reader->taken >= reader->target)
		return block;
	block.number = reader->next_block++;
	length = reader->n_carry;
	memcpy(worker->buffer, reader->carry, length);
	r = fill(reader, worker->buffer, &length, &why);
	if (r < 0)
		block.line += count_lines(worker->buffer, length);
	else
		r = cut(reader, worker->buffer, length, &block, &why);
	if (r < 0)
		lock_fail(reader, &block, r, &why);
	else
		estimate(reader, worker->buffer, block.length);
	return block;
}

static bool is_head(const struct trace_reader *reader, const char *at, const char *end)
{
	const size_t length = reader->head_length;

	return (size_t)(end - at) > length && at[length] == '\n' &&
	       memcmp(at, reader->head, length) == 0;
}

/* Parse a block. `ret_n` is its number of operations; 1: all lines are blank. */
static int read_lines(struct worker *worker, struct block *block, uint64_t *ret_n, struct err *err)
{
	const char *at = worker->buffer, *end = at + block->length;
	bool blank = true;
	struct trace_op op;
	uint64_t n = 0;
	int r;

	trace_part_begin(worker->part, block->number);
	while (at < end) {
		if (is_head(worker->reader, at, end)) {
			at += worker->reader->head_length + 1;
			block->line++;
			blank = false;
			continue;
		}
		r = line_read(&worker->lines, &at, &op, err);
		if (r > 0) {
			r = trace_part_add(worker->part, &op, block->line, err);
			n++;
		}
		if (r < 0)
			return r;
		block->line++;
	}
	trace_part_end(worker->part, block->line - 1);
	*ret_n = n;
	return blank && n == 0;
}

/* Count a blank block. The total does not depend on which thread parsed which block. */
static int lock_blank(struct trace_reader *reader, struct err *err)
{
	if (++reader->n_blank <= BLANK_MAX)
		return 0;
	return err_set(err, EINVAL, "more than %d MiB of blank lines: this is not a trace",
		       BLANK_MAX * BLOCK_SIZE / (1024 * 1024));
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct trace_reader *reader = worker->reader;
	struct block block;

	while ((block = take_block(worker)).length) {
		struct err why = ERR_INIT;
		uint64_t n = 0;
		int r = read_lines(worker, &block, &n, &why);

		(void)pthread_mutex_lock(&reader->lock);
		reader->n_ops += n;
		if (r > 0)
			r = lock_blank(reader, &why);
		if (r < 0)
			lock_fail(reader, &block, r, &why);
		(void)pthread_mutex_unlock(&reader->lock);
	}
	return NULL;
}

/* Run all threads until there is no more work; failure to start one does not matter. */
static void work_together(struct trace_reader *reader)
{
	pthread_t threads[THREADS_MAX];
	size_t n = 0, i;

	for (i = 1; i < reader->n_workers; i++)
		n += pthread_create(&threads[n], NULL, work, &reader->workers[i]) == 0;
	(void)work(&reader->workers[0]);
	for (i = 0; i < n; i++)
		(void)pthread_join(threads[i], NULL);
}

static int name_line(struct trace_reader *reader, struct err *err)
{
	uint64_t line = trace_builder_line(reader->builder, reader->error_block, reader->error_line);
	const char *why = reader->why.msg[0] ? reader->why.msg : strerror(-reader->error);

	return err_set(err, -reader->error, "%s: line %" PRIu64 ": %s", input_name(reader->input),
		       line, why);
}

int trace_reader_next(struct trace_reader *reader, size_t max_ops, struct trace **ret_trace,
		      struct err *err)
{
	int r;

	if (reader->at_end && reader->built && trace_builder_count(reader->builder) == 0)
		return 0;
	reader->target = 0;
	do {
		reader->target += (double)max_ops;
		reader->taken = (double)trace_builder_count(reader->builder);
		work_together(reader);
		if (reader->error)
			return name_line(reader, err);
		r = reader->at_end ? trace_build(reader->builder, ret_trace, err)
				   : trace_build_window(reader->builder, ret_trace, err);
	} while (r == -EAGAIN);
	if (reader->at_end || r < 0)
		progress_end(&reader->progress);
	reader->built = r == 0;
	return r < 0 ? err_wrap(err, r, "%s", input_name(reader->input)) : 1;
}

bool trace_reader_at_end(const struct trace_reader *reader)
{
	return reader->at_end;
}

uint64_t trace_reader_count(const struct trace_reader *reader)
{
	return reader->n_ops;
}

const char *trace_reader_name(const struct trace_reader *reader)
{
	return input_name(reader->input);
}

/* Return the first line without its newline; carry the rest. */
static int read_first_line(struct trace_reader *reader, struct strbuf *line, struct err *err)
{
	const char *end = NULL;
	size_t n = 1, rest;
	int r = 0;

	while (r == 0 && n && !end) {
		r = input_read(reader->input, reader->carry, FIRST_PIECE, &n, err);
		if (r < 0)
			return err_wrap(err, r, "%s: line 1", input_name(reader->input));
		end = memchr(reader->carry, '\n', n);
		r = strbuf_add(line, reader->carry, end ? (size_t)(end - reader->carry) : n);
	}
	if (r < 0)
		return err_set(err, EINVAL, "%s: line 1: longer than %d bytes",
			       input_name(reader->input), TRACE_META_MAX);
	if (line->len == 0)
		return err_set(err, EINVAL, "%s: %s", input_name(reader->input),
			       end ? "line 1: empty" : "empty: this is not a trace");
	rest = end ? n - (size_t)(end + 1 - reader->carry) : 0;
	memmove(reader->carry, reader->carry + n - rest, rest);
	reader->n_carry = rest;
	return 0;
}

/* Get the job and the line style from the first line and the file with it. */
static int read_head(struct trace_reader *reader, const struct strbuf *line, const char *meta,
		     struct trace_job *job, struct err *err)
{
	CLEANUP(freep) char *place = xasprintf("%s: line 1", input_name(reader->input));
	const char *text = strbuf_text(line);
	int r;

	if (text[strspn(text, " \t\r")] == '{') {
		if (meta)
			return err_set(err, EINVAL,
				       "%s: its first line already says what %s would: omit --meta",
				       input_name(reader->input), meta);
		line_style_optrace(&reader->style);
		return trace_meta_line(text, line->len, place, job, err);
	}
	r = line_style_csv(&reader->style, text, line->len, err);
	if (r < 0)
		return err_wrap(err, r, "%s", place);
	if (!meta)
		return err_set(
			err, EINVAL,
			"%s: a CSV does not state the shape of its job: give --meta FILE.yaml",
			input_name(reader->input));
	return trace_meta_file(meta, job, err);
}

static size_t threads_wanted(void)
{
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		return 1;
	return (size_t)MIN(MAX(CPU_COUNT(&cpus), 1), (int)THREADS_MAX);
}

/* Moves the job into the builder. The first line is a block of its own. */
static void begin(struct trace_reader *reader, struct trace_job *job)
{
	size_t i;

	reader->builder = trace_builder_new(job);
	reader->n_workers = threads_wanted();
	for (i = 0; i < reader->n_workers; i++) {
		reader->workers[i] = (struct worker){
			.reader = reader,
			.part = trace_part_new(reader->builder),
			.lines = { .style = &reader->style },
			.buffer = xcalloc(1, BLOCK_SIZE + 1 + LINE_PADDING),
			.leads = i == 0,
		};
	}
	trace_part_begin(reader->workers[0].part, reader->next_block++);
	trace_part_end(reader->workers[0].part, 1);
	reader->progress = progress_start(input_name(reader->input));
}

int trace_reader_open(const char *path, const char *meta, struct trace_reader **ret_reader,
		      struct err *err)
{
	CLEANUP(trace_reader_freep) struct trace_reader *reader = xcalloc(1, sizeof(*reader));
	CLEANUP(strbuf_release) struct strbuf line = STRBUF_INIT(TRACE_META_MAX);
	CLEANUP(trace_job_release) struct trace_job job = { 0 };
	int r;

	(void)pthread_mutex_init(&reader->lock, NULL);
	r = input_open(path, &reader->input, err);
	if (r == 0)
		r = read_first_line(reader, &line, err);
	if (r == 0)
		r = read_head(reader, &line, meta, &job, err);
	if (r < 0)
		return r;
	reader->head = xalloc_copy(strbuf_text(&line), line.len);
	reader->head_length = line.len;
	begin(reader, &job);
	*ret_reader = TAKE(reader);
	return 0;
}

void trace_reader_free(struct trace_reader *reader)
{
	size_t i;

	progress_end(&reader->progress);
	for (i = 0; i < reader->n_workers; i++) {
		line_reader_release(&reader->workers[i].lines);
		free(reader->workers[i].buffer);
	}
	if (reader->input)
		input_free(reader->input);
	if (reader->builder)
		trace_builder_free(reader->builder);
	(void)pthread_mutex_destroy(&reader->lock);
	free(reader->head);
	free(reader);
}
