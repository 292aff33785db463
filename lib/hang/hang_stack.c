/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/hang/hang_stack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

#define NAME "py-spy"

enum { PIECE_MAX = 60, LINE_NUMBER_MAX = 1 << 30 };

/* Files whose functions only wait, or only call others: their callers say more. */
static const char *const waiters[] = {
	"threading.py",
	"queue.py",
	"selectors.py",
	"socket.py",
	"ssl.py",
	"subprocess.py",
	"connection.py",
	"queues.py",
	"synchronize.py",
	"popen_fork.py",
	"popen_spawn_posix.py",
	"process.py",
	"pool.py",
	"base_events.py",
	"events.py",
	"tasks.py",
	"futures.py",
	"_base.py",
	"thread.py",
	"runners.py",
	"contextlib.py",
	"_contextlib.py",
	"functools.py",
	"c10d_logger.py",
	"signal.py",
	"retry.py",
	"_decorators.py",
};

/* --- frames --- */

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *file_of(const json_t *frame)
{
	const char *file = json_string_value(json_object_get(frame, "short_filename"));

	if (!file || !*file)
		file = json_string_value(json_object_get(frame, "filename"));
	return file ? file : "";
}

static bool waits(const json_t *frame)
{
	const char *file = base_of(file_of(frame));
	size_t i;

	/* A frozen module of the interpreter, or a frame without a file: "<string>". */
	if (!*file || *file == '<')
		return true;
	for (i = 0; i < ARRAY_SIZE(waiters); i++) {
		if (streq(file, waiters[i]))
			return true;
	}
	return false;
}

/* Library files keep their path ("torch/utils/data/dataloader.py"), others only their name. */
static const char *shown_file(const json_t *frame)
{
	const char *file = file_of(frame);

	return *file == '/' ? base_of(file) : file;
}

static void say_frame(const json_t *frame, char ret[static HANG_WHERE_SIZE])
{
	const json_int_t line = json_integer_value(json_object_get(frame, "line"));
	const char *name = json_string_value(json_object_get(frame, "name"));
	CLEANUP(freep) char *function = utf8_clean(name ? name : "?");
	CLEANUP(freep) char *file = utf8_clean(shown_file(frame));
	const char *end = file + strlen(file);
	const char *shown = end - file > PIECE_MAX ? base_of(file) : file;

	if (!*file)
		(void)snprintf(ret, HANG_WHERE_SIZE, "%.*s", PIECE_MAX, function);
	else if (line > 0 && line < LINE_NUMBER_MAX)
		(void)snprintf(ret, HANG_WHERE_SIZE, "%.*s (%.*s:%d)", PIECE_MAX, function,
			       PIECE_MAX, shown, (int)line);
	else
		(void)snprintf(ret, HANG_WHERE_SIZE, "%.*s (%.*s)", PIECE_MAX, function, PIECE_MAX,
			       shown);
	(void)utf8_clean_in_place(ret); /* a character that was cut in two */
}

static void say_where(const json_t *thread, char ret[static HANG_WHERE_SIZE])
{
	const json_t *frames = json_object_get(thread, "frames");
	const size_t n = MIN(json_array_size(frames), (size_t)HANG_STACK_FRAMES_MAX);
	const json_t *chosen = json_array_get(frames, 0);
	size_t i;

	for (i = 0; i < n; i++) {
		if (!waits(json_array_get(frames, i))) {
			chosen = json_array_get(frames, i);
			break;
		}
	}
	ret[0] = '\0';
	if (chosen)
		say_frame(chosen, ret);
}

/* --- threads --- */

/* Python's main thread; else the process's first; else the last one listed. */
static size_t main_thread(const json_t *threads)
{
	const size_t n = json_array_size(threads);
	size_t i;

	for (i = 0; i < n; i++) {
		const json_t *thread = json_array_get(threads, i);

		if (streq(json_string_value(json_object_get(thread, "thread_name")), "MainThread"))
			return i;
	}
	for (i = 0; i < n; i++) {
		const json_t *thread = json_array_get(threads, i);
		const json_t *pid = json_object_get(thread, "pid");

		if (json_is_integer(pid) &&
		    json_equal(pid, json_object_get(thread, "os_thread_id")))
			return i;
	}
	return n - 1;
}

static int check(const struct jval *threads, struct err *err)
{
	size_t i;
	int r = jval_need_array(threads, err);

	if (r == 0 && json_array_size(threads->value) == 0)
		return jval_fail(threads, err, "no thread");
	if (r == 0 && json_array_size(threads->value) > HANG_STACK_THREADS_MAX)
		return err_set(err, E2BIG, NAME ": more than %d threads", HANG_STACK_THREADS_MAX);
	for (i = 0; r == 0 && i < json_array_size(threads->value); i++) {
		const struct jval thread = jval_at(threads, i);
		const struct jval frames = jval_get(&thread, "frames");

		r = jval_need_object(&thread, err);
		if (r == 0)
			r = jval_need_array(&frames, err);
	}
	return r;
}

int hang_stack_read(const char *text, size_t size, struct hang_stack *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *doc = NULL;
	struct jval root;
	int r;

	if (size > HANG_STACK_MAX)
		return err_set(err, E2BIG, NAME ": more than %d KiB", HANG_STACK_MAX >> 10);
	r = json_parse(text, size, NAME, &doc, err);
	if (r < 0)
		return r;
	root = jval_root(doc, NAME);
	r = check(&root, err);
	if (r < 0)
		return r;
	say_where(json_array_get(doc, main_thread(doc)), ret->where);
	return 0;
}
