/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/analysis.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

enum {
	STATUS_NO_TRACE = 126,
	STATUS_NO_PROGRAM = 127,
	STATUS_USAGE = 2,   /* or an invalid trace */
	ARGUMENTS_MAX = 10, /* including the name and the NULL */
	SPEEDS_FD = 3,
	READ_SIZE = 16384,
	PIECE_SIZE = 1 << 20,
};

/* Where the child reads the speeds of its hosts: SPEEDS_FD. */
#define SPEEDS_FILE "--speeds=/dev/fd/3"

/* Output so far on stdout or stderr. */
struct heard {
	struct analysis *a;
	sd_event_source *source;
	struct strbuf text;
	int fd;
};

struct analysis {
	sd_event *loop;
	void (*ended)(void *context, enum analysis_result result, const char *text);
	void *context;
	sd_event_source *child; /* while running */
	sd_event_source *timer;
	struct heard out, words;
	pid_t pid;
	const char *cut; /* why we killed it; NULL: we did not */
};

struct analysis *analysis_new(struct sd_event *loop,
			      void (*ended)(void *context, enum analysis_result result,
					    const char *text),
			      void *context)
{
	struct analysis *a = xcalloc(1, sizeof(*a));

	a->loop = sd_event_ref(loop);
	a->ended = ended;
	a->context = context;
	a->out = (struct heard){ .a = a, .text = STRBUF_INIT(ANALYSIS_OUTPUT_MAX), .fd = -1 };
	a->words = (struct heard){ .a = a, .text = STRBUF_INIT(ANALYSIS_WORDS_MAX), .fd = -1 };
	return a;
}

static void hush(struct heard *h)
{
	h->source = sd_event_source_disable_unref(h->source);
	closep(&h->fd);
	h->fd = -1;
	strbuf_release(&h->text);
}

static void forget(struct analysis *a)
{
	a->child = sd_event_source_disable_unref(a->child);
	a->timer = sd_event_source_disable_unref(a->timer);
	hush(&a->out);
	hush(&a->words);
	a->cut = NULL;
}

bool analysis_runs(const struct analysis *a)
{
	return a->child != NULL;
}

static void cut(struct analysis *a, const char *why)
{
	if (!a->cut)
		a->cut = why;
	(void)kill(-a->pid, SIGKILL);
}

/* --- output --- */

static void take(struct heard *h)
{
	char bytes[READ_SIZE];
	ssize_t n;

	while ((n = read(h->fd, bytes, sizeof(bytes))) > 0) {
		if (strbuf_add(&h->text, bytes, (size_t)n) < 0) {
			cut(h->a, "its output is too long");
			return;
		}
	}
	if (n == 0)
		h->source = sd_event_source_disable_unref(h->source);
}

static int on_heard(sd_event_source *source UNUSED, int fd UNUSED, uint32_t events UNUSED,
		    void *context)
{
	take(context);
	return 0;
}

static int listen_to(struct analysis *a, struct heard *h, int fd)
{
	h->fd = fd;
	return sd_event_add_io(a->loop, &h->source, fd, EPOLLIN, on_heard, h);
}

/* --- end --- */

/* The last line of stderr, without the names of program and input. New memory. */
static char *last_words(const struct analysis *a)
{
	static const char *const own[] = { "assay-attribute: ", "standard input: " };
	CLEANUP(freep) char *text = xstrdup(strbuf_text(&a->words.text));
	size_t length = strlen(text), i;
	const char *line;

	while (length > 0 && text[length - 1] == '\n')
		text[--length] = '\0';
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	for (i = 0; i < ARRAY_SIZE(own); i++) {
		if (starts_with(line, own[i]))
			line += strlen(own[i]);
	}
	return utf8_clean(line);
}

static enum analysis_result conclude(const struct analysis *a, const siginfo_t *info,
				     char **ret_text)
{
	if (a->cut) {
		*ret_text = xstrdup(a->cut);
		return ANALYSIS_FAILED;
	}
	if (info->si_code == CLD_EXITED && info->si_status == 0) {
		*ret_text = xstrdup(strbuf_text(&a->out.text));
		return ANALYSIS_DONE;
	}
	if (info->si_code != CLD_EXITED) {
		*ret_text = info->si_status == SIGXCPU || info->si_status == SIGKILL
				    ? xasprintf("the analysis took more than %d s of CPU time, or "
						"ran out of memory",
						ANALYSIS_CPU_S)
				    : xasprintf("the analysis ended by signal %d", info->si_status);
		return ANALYSIS_FAILED;
	}
	if (info->si_status == STATUS_NO_PROGRAM) {
		*ret_text = xstrdup("assay-attribute cannot be started: is it installed?");
		return ANALYSIS_FAILED;
	}
	if (info->si_status == STATUS_NO_TRACE) {
		*ret_text = xstrdup("the stored trace cannot be read");
		return ANALYSIS_FAILED;
	}
	*ret_text = last_words(a);
	return info->si_status == STATUS_USAGE ? ANALYSIS_REJECTED : ANALYSIS_FAILED;
}

static int on_exit_of_child(sd_event_source *source UNUSED, const siginfo_t *info, void *context)
{
	CLEANUP(freep) char *text = NULL;
	struct analysis *a = context;
	enum analysis_result result;

	take(&a->out);
	take(&a->words);
	result = conclude(a, info, &text);
	(void)kill(-a->pid, SIGKILL); /* any processes it left behind */
	forget(a);
	a->ended(a->context, result, text);
	return 0;
}

static int on_timer(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	cut(context, "the analysis took too long");
	return 0;
}

/* --- the child --- */

static void set_limit(int resource, rlim_t most)
{
	const struct rlimit limit = { most, most };

	(void)setrlimit((__rlimit_resource_t)resource, &limit);
}

/* Code that runs in the child: only async-signal-safe calls. */

/* Append the file to `to`. */
static bool append(int to, const char *path)
{
	const int from = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = from < 0 ? -1 : 1;

	while (n > 0)
		n = sendfile(to, from, NULL, PIECE_SIZE);
	(void)close(from);
	return n == 0;
}

/* The trace as one file; < 0: it cannot be read. */
static int open_trace(const char *const *files)
{
	int all;

	if (!files[1])
		return open(files[0], O_RDONLY | O_CLOEXEC);
	all = memfd_create("trace", MFD_CLOEXEC);
	for (; all >= 0 && *files; files++) {
		if (!append(all, *files))
			return -1;
	}
	(void)lseek(all, 0, SEEK_SET);
	return all;
}

/* When memory runs out, the OOM killer shall pick this process, not the controller or others. */
static void go_first(void)
{
	static const char most[] = "1000";
	const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, most, sizeof(most) - 1) < 0)
		(void)close(fd); /* best effort */
}

/* Arguments for the child, all borrowed. */
struct given {
	const char *const *files;
	int speeds; /* a file, read from the start; -1: none */
	int ends[2];
};

static void exec_program(const char *program, char *const *argv, const struct given *given,
			 pid_t parent)
{
	sigset_t none;
	int trace;

	(void)sigemptyset(&none);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(STATUS_NO_PROGRAM);
	(void)setpriority(PRIO_PROCESS, 0, ANALYSIS_NICE);
	go_first();
	set_limit(RLIMIT_AS, ANALYSIS_MEMORY_MAX);
	set_limit(RLIMIT_CPU, ANALYSIS_CPU_S);
	set_limit(RLIMIT_CORE, 0);
	trace = open_trace(given->files);
	if (trace < 0)
		_exit(STATUS_NO_TRACE);
	set_limit(RLIMIT_FSIZE, 0);
	(void)dup2(trace, STDIN_FILENO);
	(void)dup2(given->ends[0], STDOUT_FILENO);
	(void)dup2(given->ends[1], STDERR_FILENO);
	if (given->speeds == SPEEDS_FD)
		(void)fcntl(SPEEDS_FD, F_SETFD, 0);
	else if (given->speeds >= 0)
		(void)dup2(given->speeds, SPEEDS_FD);
	(void)execv(program, argv);
	_exit(STATUS_NO_PROGRAM);
}

/* --- start --- */

static int watch(struct analysis *a)
{
	int r = sd_event_add_child(a->loop, &a->child, a->pid, WEXITED, on_exit_of_child, a);

	if (r >= 0)
		r = sd_event_add_time(a->loop, &a->timer, CLOCK_MONOTONIC,
				      clock_mono_us() + ANALYSIS_WALL_US, 0, on_timer, a);
	return r;
}

/* What to analyse, and with which thresholds. Borrowed. */
struct asked {
	const char *const *files;
	const char *meta;
	const char *speeds;
	const struct analysis_bars *bars;
};

/* An anonymous file with the text; -1: no text, or no memory. */
static int file_of(const char *text)
{
	int fd = text ? memfd_create("speeds", MFD_CLOEXEC) : -1;

	if (fd >= 0 && write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

/* Arguments for execv(), in memory of their own. */
static int spawn(struct analysis *a, const struct asked *asked, const int ends[2])
{
	CLEANUP(freep) char *dir = paths_programs();
	CLEANUP(freep) char *program = xasprintf("%s/assay-attribute", dir);
	CLEANUP(freep) char *gain = xasprintf("--min-gain=%.17g", asked->bars->min_gain);
	CLEANUP(freep) char *share = xasprintf("--share=%.17g", asked->bars->share);
	const struct given given = { asked->files, file_of(asked->speeds), { ends[0], ends[1] } };
	CLEANUP(freep) char *shape = asked->meta ? xasprintf("--meta=%s", asked->meta) : NULL;
	const char *const arguments[ARGUMENTS_MAX] = {
		"assay-attribute",
		"--summary",
		"--min-slowdown=1.03",
		"--bootstrap=200",
		gain,
		share,
		"-",
		given.speeds >= 0 ? SPEEDS_FILE : shape,
		given.speeds >= 0 ? shape : NULL,
	};
	char *argv[ARGUMENTS_MAX] = { NULL };
	const pid_t parent = getpid();
	size_t n;
	int r;

	for (n = 0; arguments[n]; n++)
		argv[n] = xstrdup(arguments[n]);
	a->pid = fork();
	r = a->pid < 0 ? -errno : 0;
	if (a->pid == 0)
		exec_program(program, argv, &given, parent);
	else if (a->pid > 0)
		(void)setpgid(a->pid, a->pid); /* parent and child race */
	for (n = 0; argv[n]; n++)
		free(argv[n]);
	if (given.speeds >= 0)
		(void)close(given.speeds);
	return r;
}

static int start(struct analysis *a, const struct asked *asked, const int out[2], const int words[2])
{
	const int ends[2] = { out[1], words[1] };
	int r = spawn(a, asked, ends);

	if (r < 0)
		return r;
	r = watch(a);
	if (r >= 0)
		r = listen_to(a, &a->out, fcntl(out[0], F_DUPFD_CLOEXEC, 0));
	if (r >= 0)
		r = listen_to(a, &a->words, fcntl(words[0], F_DUPFD_CLOEXEC, 0));
	if (r < 0) {
		(void)kill(-a->pid, SIGKILL);
		(void)waitpid(a->pid, NULL, 0);
		forget(a);
	}
	return MIN(r, 0);
}

int analysis_start(struct analysis *a, const char *const *files, const char *meta,
		   const char *speeds, const struct analysis_bars *bars, struct err *err)
{
	const struct asked asked = { files, meta, speeds, bars };
	int out[2] = { -1, -1 }, words[2] = { -1, -1 };
	size_t i;
	int r;

	if (a->child)
		return err_set(err, EBUSY, "an analysis is running");
	r = pipe2(out, O_CLOEXEC | O_NONBLOCK) < 0 || pipe2(words, O_CLOEXEC) < 0 ||
			    fcntl(words[0], F_SETFL, O_NONBLOCK) < 0 ||
			    fcntl(out[1], F_SETFL, 0) < 0
		    ? -errno
		    : start(a, &asked, out, words);
	for (i = 0; i < 2; i++) {
		closep(&out[i]);
		closep(&words[i]);
	}
	return r < 0 ? err_errno(err, -r, "cannot start assay-attribute") : 0;
}

void analysis_free(struct analysis *a)
{
	if (!a)
		return;
	if (a->child) {
		(void)kill(-a->pid, SIGKILL);
		(void)waitpid(a->pid, NULL, 0);
	}
	forget(a);
	(void)sd_event_unref(a->loop);
	free(a);
}
