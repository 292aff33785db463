/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/trace_converter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "agents/assayd/trace_sandbox.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

#define PYTHON "/usr/bin/python3"

enum {
	PIECE = 16 * 1024,
	ARGUMENTS_MAX = 192,
	OWN_ARGUMENTS = 4,
	ABOVE = 16, /* lowest descriptor of the child's own, out of the way of dup2() */
	STATUS_UNPACKS = 3,
	STATUS_RANK = 4,
	STATUS_PEER = 5,
};

struct trace_converter {
	sd_event *event;
	char *dir; /* directory of its output */
	void (*done)(void *context, struct trace_converted *converted);
	void *context;
	sd_event_source *child, *timer, *output;
	pid_t pid;
	int out, words; /* its stdout and stderr */
	int fd;		/* the output file */
	size_t size;
	enum trace_refusal cut; /* why it was killed */
};

struct trace_converter *trace_converter_new(struct sd_event *event, const char *dir,
					    void (*done)(void *context, struct trace_converted *c),
					    void *context)
{
	struct trace_converter *c = xcalloc(1, sizeof(*c));

	c->event = sd_event_ref(event);
	c->dir = xstrdup(dir);
	c->done = done;
	c->context = context;
	c->out = c->words = c->fd = -1;
	return c;
}

bool trace_converter_runs(const struct trace_converter *c)
{
	return c->child != NULL;
}

static void drop(int *fd)
{
	closep(fd);
	*fd = -1;
}

static void forget(struct trace_converter *c)
{
	c->child = sd_event_source_disable_unref(c->child);
	c->timer = sd_event_source_disable_unref(c->timer);
	c->output = sd_event_source_disable_unref(c->output);
	drop(&c->out);
	drop(&c->words);
	drop(&c->fd);
	c->size = 0;
	c->cut = TRACE_TAKEN;
}

void trace_converter_free(struct trace_converter *c)
{
	if (!c)
		return;
	if (c->child) {
		(void)kill(c->pid, SIGKILL);
		(void)waitpid(c->pid, NULL, 0);
	}
	forget(c);
	(void)sd_event_unref(c->event);
	free(c->dir);
	free(c);
}

static void cut(struct trace_converter *c, enum trace_refusal why)
{
	if (c->cut == TRACE_TAKEN)
		c->cut = why;
	(void)kill(c->pid, SIGKILL);
}

/* --- its output --- */

static void take_output(struct trace_converter *c)
{
	char piece[PIECE];
	ssize_t n;
	int r;

	while ((n = read(c->out, piece, sizeof(piece))) > 0) {
		c->size += (size_t)n;
		if (c->size > TRACE_CONVERTER_OUTPUT_MAX + TRACE_CONVERTER_HEAD_MAX) {
			cut(c, TRACE_LIMITS);
			return;
		}
		r = file_write_all(c->fd, piece, (size_t)n);
		if (r < 0) {
			log_warning("cannot store a part in %s: %s", c->dir, strerror(-r));
			cut(c, TRACE_SANDBOX);
			return;
		}
	}
	if (n == 0)
		c->output = sd_event_source_disable_unref(c->output);
}

static int on_output(sd_event_source *source UNUSED, int fd UNUSED, uint32_t events UNUSED,
		     void *context)
{
	take_output(context);
	return 0;
}

/* Its error message, one line, without the program name. */
static void read_words(const struct trace_converter *c, char ret[static TRACE_CONVERTER_WORDS_MAX])
{
	static const char own[] = "assay-optrace: ";
	const ssize_t n = read(c->words, ret, TRACE_CONVERTER_WORDS_MAX - 1);

	ret[n > 0 ? n : 0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	if (starts_with(ret, own))
		memmove(ret, ret + strlen(own), strlen(ret + strlen(own)) + 1);
	(void)utf8_clean_in_place(ret);
}

/* --- its end --- */

struct head {
	uint64_t rank, part, of, step;
	double first, last;
};

#define AT(member) offsetof(struct head, member)
static const struct jfield head_fields[] = {
	{ "rank", J_U64, AT(rank), J_REQUIRED, 0, 1e9 },
	{ "part", J_U64, AT(part), J_REQUIRED, 1, TRACE_PARTS_MAX },
	{ "of", J_U64, AT(of), J_REQUIRED, 1, TRACE_PARTS_MAX },
	{ "step", J_U64, AT(step), J_REQUIRED, 0, 1e15 },
	{ "first", J_REAL, AT(first), J_REQUIRED, 0, 1e12 },
	{ "last", J_REAL, AT(last), J_REQUIRED, 0, 1e12 },
};
#undef AT

/* Parse the line before the part. */
static bool read_head(const struct trace_converter *c, struct trace_converted *ret)
{
	CLEANUP(json_freep) json_t *value = NULL;
	char text[TRACE_CONVERTER_HEAD_MAX];
	const ssize_t n = pread(c->fd, text, sizeof(text), 0);
	const char *end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;
	struct head head = { .rank = 0 };
	struct jval root;

	if (!end || json_parse(text, (size_t)(end - text), "part", &value, NULL) < 0)
		return false;
	root = jval_root(value, "part");
	if (jval_decode(&root, head_fields, ARRAY_SIZE(head_fields), 0, &head, NULL) < 0)
		return false;
	ret->rank = (int64_t)head.rank;
	ret->step = (int64_t)head.step;
	ret->part = (unsigned)head.part;
	ret->of = (unsigned)head.of;
	ret->first_s = head.first;
	ret->last_s = head.last;
	ret->offset = (size_t)(end + 1 - text);
	ret->size = c->size - ret->offset;
	return ret->size > 0 && ret->part <= ret->of && ret->first_s <= ret->last_s;
}

static enum trace_refusal judge(const struct trace_converter *c, const siginfo_t *info)
{
	static const struct {
		int status;
		enum trace_refusal why;
	} statuses[] = {
		{ 0, TRACE_TAKEN },
		{ STATUS_UNPACKS, TRACE_UNPACKS },
		{ STATUS_RANK, TRACE_RANK },
		{ STATUS_PEER, TRACE_GONE },
		{ TRACE_SANDBOX_FAILED, TRACE_SANDBOX },
		{ TRACE_SANDBOX_NO_PROGRAM, TRACE_SANDBOX },
	};
	size_t i;

	if (c->cut != TRACE_TAKEN)
		return c->cut;
	if (info->si_code != CLD_EXITED)
		return TRACE_LIMITS;
	for (i = 0; i < ARRAY_SIZE(statuses); i++) {
		if (info->si_status == statuses[i].status)
			return statuses[i].why;
	}
	return TRACE_UNUSABLE;
}

static int on_exit_of_child(sd_event_source *source UNUSED, const siginfo_t *info, void *context)
{
	char words[TRACE_CONVERTER_WORDS_MAX];
	struct trace_converter *c = context;
	struct trace_converted converted = { .words = words, .fd = -1 };

	take_output(c);
	read_words(c, words);
	converted.why = judge(c, info);
	if (converted.why == TRACE_TAKEN && !read_head(c, &converted))
		converted.why = TRACE_UNUSABLE;
	if (converted.why == TRACE_TAKEN) {
		converted.fd = c->fd;
		c->fd = -1;
	}
	forget(c);
	c->done(c->context, &converted);
	closep(&converted.fd);
	return 0;
}

static int on_timer(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	cut(context, TRACE_LIMITS);
	return 0;
}

/* --- its start --- */

/* An unlinked file. */
static int make_file(const char *dir)
{
	CLEANUP(freep) char *path = xasprintf("%s/part-XXXXXX", dir);
	const int fd = mkostemp(path, O_CLOEXEC);

	if (fd < 0)
		return -errno;
	(void)unlink(path);
	return fd;
}

static int make_pipe(int *ret_ours, int *ret_theirs)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	*ret_ours = ends[0];
	*ret_theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, ABOVE);
	(void)close(ends[1]);
	return *ret_theirs < 0 ? -errno : 0;
}

static int watch(struct trace_converter *c)
{
	int r = sd_event_add_child(c->event, &c->child, c->pid, WEXITED, on_exit_of_child, c);

	if (r >= 0)
		r = sd_event_add_time(c->event, &c->timer, CLOCK_MONOTONIC,
				      clock_mono_us() + TRACE_CONVERTER_WALL_US, 0, on_timer, c);
	if (r >= 0)
		r = sd_event_add_io(c->event, &c->output, c->out, EPOLLIN, on_output, c);
	return r;
}

static int spawn(struct trace_converter *c, struct trace_sandbox *s, char *const *arguments)
{
	char *argv[OWN_ARGUMENTS + ARGUMENTS_MAX + 1] = { xstrdup("python3"), xstrdup("-I"),
							  xstrdup("-B"), xstrdup("/dev/fd/3") };
	size_t n;
	int r;

	for (n = 0; arguments[n] && n < ARGUMENTS_MAX; n++)
		argv[OWN_ARGUMENTS + n] = xstrdup(arguments[n]);
	s->argv = argv;
	c->pid = fork();
	r = c->pid < 0 ? -errno : 0;
	if (c->pid == 0)
		trace_sandbox_exec(s);
	for (n = 0; argv[n]; n++)
		free(argv[n]);
	return r;
}

static int start(struct trace_converter *c, struct trace_sandbox *s, char *const *arguments)
{
	CLEANUP(closep) int out = -1;
	CLEANUP(closep) int err = -1;
	int r = make_pipe(&c->out, &out);

	if (r == 0)
		r = make_pipe(&c->words, &err);
	if (r == 0)
		r = c->fd = make_file(c->dir);
	if (r < 0)
		return r;
	s->out = out;
	s->err = err;
	r = spawn(c, s, arguments);
	if (r == 0)
		r = watch(c);
	if (r < 0 && c->pid > 0) {
		(void)kill(c->pid, SIGKILL);
		(void)waitpid(c->pid, NULL, 0);
	}
	return MIN(r, 0);
}

int trace_converter_start(struct trace_converter *c, int fd, const struct stat *owner,
			  char *const *arguments, struct err *err)
{
	CLEANUP(freep) char *dir = paths_programs();
	CLEANUP(freep) char *path = xasprintf("%s/assay-optrace", dir);
	CLEANUP(closep) int given = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(closep) int script = given < 0 ? -1 : fcntl(given, F_DUPFD_CLOEXEC, ABOVE);
	CLEANUP(closep) int in = fcntl(fd, F_DUPFD_CLOEXEC, ABOVE);
	struct trace_sandbox s = { .in = in,
				   .script = script,
				   .uid = owner->st_uid ? owner->st_uid : TRACE_SANDBOX_NOBODY,
				   /* In a setgid directory a file has the directory's group. */
				   .gid = TRACE_SANDBOX_NOBODY,
				   .program = PYTHON,
				   .parent = getpid() };
	int r;

	if (c->child)
		return err_set(err, EBUSY, "a file is being converted");
	if (script < 0)
		return err_errno(err, errno, "cannot read %s", path);
	if (in < 0)
		return err_errno(err, errno, "no descriptor for the file");
	c->pid = 0;
	r = start(c, &s, arguments);
	if (r < 0) {
		forget(c);
		return err_errno(err, -r, "cannot start %s", path);
	}
	return 0;
}
