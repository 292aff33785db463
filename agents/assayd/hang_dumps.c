/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/hang_dumps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <math.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/assayd/trace_rules.h"
#include "agents/assayd/trace_sandbox.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_case.h"
#include "lib/hang/hang_fr.h"
#include "lib/hang/hang_json.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"

#define CHILD_WALL_US (5 * USEC_PER_SEC)

enum {
	FD_PATH_SIZE = 32,
	PIECE = 16 * 1024,
	ABOVE = 16, /* lowest descriptor of the child's own, out of the way of dup2() */
	WORDS_SIZE = 200,
	PASSWD_LINE_SIZE = 4096,
	PASSWD_LINES_MAX = 65536,
	CANNOT_READ = 1,
};

/* --- opening --- */

static int open_below(int root, const char *path, int flags)
{
	return file_open_resolved(root, path, flags | O_NOFOLLOW,
				  RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

/* The user's home, from the passwd file below `root`. The caller frees it; NULL: not listed. */
static char *home_of(int root, uid_t uid)
{
	const int fd = open_below(root, "/etc/passwd", O_RDONLY | O_NONBLOCK);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[PASSWD_LINE_SIZE], *home = NULL;
	struct passwd entry, *found = NULL;
	size_t n = 0;

	if (!file) {
		if (fd >= 0)
			(void)close(fd);
		return NULL;
	}
	while (!home && n++ < PASSWD_LINES_MAX &&
	       fgetpwent_r(file, &entry, line, sizeof(line), &found) == 0) {
		if (entry.pw_uid == uid && entry.pw_dir[0] == '/')
			home = xstrdup(entry.pw_dir);
	}
	(void)fclose(file);
	return home;
}

static char *path_of(int root, const struct hang_dumps_rank *rank, const char *prefix)
{
	CLEANUP(freep) char *home = NULL;

	if (!starts_with(prefix, "~/"))
		return xasprintf("%s%" PRId64, prefix, rank->rank);
	home = home_of(root, rank->uid);
	return home ? xasprintf("%s%s%" PRId64, home, prefix + 1, rank->rank) : NULL;
}

static int judge(const struct hang_dumps_rank *rank, const char *path, const struct stat *st,
		 struct err *err)
{
	const enum trace_refusal why = trace_rules_judge(st);

	if (why == TRACE_GONE)
		return -ENOENT;
	if (why != TRACE_TAKEN)
		return err_set(err, EPERM, "%s: %s", path, trace_refusal_words[why]);
	if (st->st_uid != rank->uid)
		return err_set(err, EPERM, "%s: it is not owned by the user its rank runs as", path);
	/* Left by an earlier run. */
	return (double)st->st_mtim.tv_sec < rank->began_s - 1 ? -ENOENT : 0;
}

static int open_one(int root, const struct hang_dumps_rank *rank, const char *path,
		    struct stat *ret_st, struct err *err)
{
	/* Check first: opening a device may have side effects, and a FIFO blocks. */
	CLEANUP(closep) int look = open_below(root, path, O_PATH);
	char again[FD_PATH_SIZE];
	int r;

	if (look == -ELOOP)
		return err_set(err, EPERM,
			       "%s: it is a symbolic link, or its path leads through one", path);
	if (look < 0 || fstat(look, ret_st) < 0)
		return -ENOENT;
	r = judge(rank, path, ret_st, err);
	if (r < 0)
		return r;
	(void)snprintf(again, sizeof(again), "/proc/self/fd/%d", look);
	r = open(again, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return r < 0 ? err_errno(err, errno, "%s", path) : r;
}

int hang_dumps_open(const struct hang_dumps_rank *rank, char *const *prefixes, struct stat *ret_st,
		    struct err *err)
{
	CLEANUP(closep)
	int root = openat(rank->proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int newest = -ENOENT;
	size_t i;

	for (i = 0; root >= 0 && prefixes[i]; i++) {
		CLEANUP(freep) char *path = path_of(root, rank, prefixes[i]);
		struct stat st;
		const int r = path ? open_one(root, rank, path, &st, err) : -ENOENT;

		if (r >= 0 && (newest < 0 || st.st_mtime > ret_st->st_mtime)) {
			closep(&newest);
			newest = r;
			*ret_st = st;
		} else if (r >= 0) {
			(void)close(r);
		} else if (newest == -ENOENT) {
			newest = r;
		}
	}
	return newest;
}

/* --- reading, in the sandbox --- */

/* Read its output to the end, or until the timeout. */
static int read_words(int fd, struct strbuf *text, struct err *err)
{
	int r = file_read_until(fd, clock_mono_us() + CHILD_WALL_US, text);

	if (r == -ETIMEDOUT)
		return err_set(err, ETIMEDOUT, "it takes too long to read");
	if (r == -EFBIG)
		return err_set(err, EFBIG, "it contains more than a single rank can have");
	return r < 0 ? err_errno(err, -r, "its converted form cannot be read") : 0;
}

static pid_t start(int fd, const struct hang_dumps_rank *rank, int out)
{
	CLEANUP(freep) char *number = xasprintf("%" PRId64, rank->rank);
	CLEANUP(closep) int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CLEANUP(closep) int script = own < 0 ? -1 : fcntl(own, F_DUPFD_CLOEXEC, ABOVE);
	CLEANUP(closep) int in = fcntl(fd, F_DUPFD_CLOEXEC, ABOVE);
	char name[] = "assay-hang-look", mode[] = "--read-dump";
	char *const argv[] = { name, mode, number, NULL };
	const uid_t uid = geteuid() == 0 && rank->uid == 0 ? TRACE_SANDBOX_NOBODY : rank->uid;
	const struct trace_sandbox s = {
		.in = in,
		.out = out,
		.err = out,
		.script = script,
		.uid = uid,
		.gid = TRACE_SANDBOX_NOBODY,
		/* This program by descriptor: the user may have no access to its path. */
		.program = "/proc/self/fd/3",
		.argv = argv,
		.parent = getpid()
	};
	pid_t pid;

	if (script < 0 || in < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		trace_sandbox_exec(&s);
	return pid;
}

static int run(int fd, const struct hang_dumps_rank *rank, struct strbuf *text, struct err *err)
{
	CLEANUP(closep) int in = -1;
	int ends[2], out, status = 0, r;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(err, errno, "cannot make a pipe");
	in = ends[0];
	out = fcntl(ends[1], F_DUPFD_CLOEXEC, ABOVE);
	(void)close(ends[1]);
	pid = start(fd, rank, out);
	(void)close(out);
	if (pid < 0)
		return err_set(err, EAGAIN, "cannot start its reader");
	r = read_words(in, text, err);
	if (r < 0)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r < 0)
		return r;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == TRACE_SANDBOX_FAILED)
		return err_set(err, EPERM,
			       "its reader could not be confined (that needs CAP_SETUID, "
			       "CAP_SETGID and CAP_KILL: docs/jobs.md)");
	strbuf_text(text);
	if (text->len)
		text->data[strcspn(text->data, "\n")] = '\0';
	return err_set(err, EINVAL, "%.*s", WORDS_SIZE,
		       text->len ? text->data : "it takes too much memory or time to read");
}

/* Untrusted output: must be about this rank only. */
static bool speaks_of(const json_t *document, int64_t rank)
{
	const json_t *ranks = json_object_get(document, "ranks");

	return json_array_size(ranks) == 1 &&
	       json_integer_value(json_object_get(json_array_get(ranks, 0), "rank")) == rank;
}

static int decode(struct hang_case *c, const struct strbuf *text,
		  const struct hang_dumps_rank *rank, struct err *err)
{
	CLEANUP(hang_case_release) struct hang_case alone = { .ranks = NULL };
	CLEANUP(json_freep) json_t *document = NULL;
	struct jval root;
	int r = json_parse(text->data ? text->data : "", text->len, "dump", &document, err);

	if (r < 0)
		return r;
	if (!speaks_of(document, rank->rank))
		return err_set(err, EINVAL, "it describes ranks other than its own");
	root = jval_root(document, "dump");
	r = hang_json_add(&alone, &root, NULL, err);
	return r < 0 ? r : hang_json_add(c, &root, NULL, err);
}

int hang_dumps_add(struct hang_case *c, int fd, const struct hang_dumps_rank *rank, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(HANG_DUMPS_TEXT_MAX);
	struct stat before, after;
	int r;

	if (fstat(fd, &before) < 0)
		return err_errno(err, errno, "it cannot be examined");
	r = run(fd, rank, &text, err);
	if (r < 0)
		return r;
	if (fstat(fd, &after) < 0 || !trace_rules_unchanged(&before, &after))
		return err_set(err, EAGAIN, "it is being written");
	return decode(c, &text, rank, err);
}

/* --- in the child --- */

/* All of stdin; the caller frees it. */
static int read_input(char **ret_bytes, size_t *ret_n, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf bytes = STRBUF_INIT(HANG_DUMPS_FILE_MAX);
	char piece[PIECE];
	ssize_t n;

	while ((n = read(STDIN_FILENO, piece, sizeof(piece))) > 0) {
		if (strbuf_add(&bytes, piece, (size_t)n) < 0)
			return err_set(err, EFBIG, "it is larger than 64 MiB");
	}
	if (n < 0)
		return err_errno(err, errno, "cannot read it");
	*ret_n = bytes.len;
	*ret_bytes = TAKE(bytes.data);
	return 0;
}

static int convert(const char *rank, json_t **ret_document, struct err *err)
{
	CLEANUP(hang_case_release) struct hang_case c = { .ranks = NULL };
	CLEANUP(hang_fr_freep) struct hang_fr *fr = hang_fr_new();
	const struct hang_head head = { .run = HANG_UNKNOWN, .age_s = NAN };
	/* The name gives the rank if the contents do not. */
	CLEANUP(freep) char *name = xasprintf("rank_%s", rank);
	CLEANUP(freep) char *bytes = NULL;
	size_t n = 0;
	int r = read_input(&bytes, &n, err);

	if (r == 0)
		r = hang_fr_add(fr, name, bytes, n, err);
	if (r == 0)
		r = hang_fr_put(fr, &c, err);
	if (r == 0)
		*ret_document = hang_json_encode(&c, &head);
	return r;
}

int hang_dumps_print(const char *rank)
{
	CLEANUP(json_freep) json_t *document = NULL;
	struct err err = ERR_INIT;

	if (convert(rank, &document, &err) < 0) {
		(void)printf("%s\n", err.msg);
		return CANNOT_READ;
	}
	return json_dumpf(document, stdout, JSON_COMPACT) < 0 || fflush(stdout) ? CANNOT_READ : 0;
}
