/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/describe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"

static const struct jfield check_fields[] = {
	{ "check", J_STRING, offsetof(struct describe_check, check), J_REQUIRED },
	{ "unit", J_STRING, offsetof(struct describe_check, unit), 0 },
	{ "better", J_STRING, offsetof(struct describe_check, better), 0 },
	{ "finds", J_STRING, offsetof(struct describe_check, finds), 0 },
};

static const struct jfield fields[] = {
	{ "probe", J_STRING, offsetof(struct describe, probe), J_REQUIRED },
	{ "summary", J_STRING, offsetof(struct describe, summary), 0 },
	{ "budget", J_STRING, offsetof(struct describe, budget), 0 },
	{ "active", J_BOOL, offsetof(struct describe, active), J_REQUIRED },
};

void describe_release(struct describe *d)
{
	size_t i;

	free(d->probe);
	free(d->summary);
	free(d->budget);
	for (i = 0; i < d->n_checks; i++) {
		free(d->checks[i].check);
		free(d->checks[i].unit);
		free(d->checks[i].better);
		free(d->checks[i].finds);
	}
	free(d->checks);
	*d = (struct describe){ 0 };
}

static int decode_checks(const struct jval *v, struct describe *d, struct err *err)
{
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r == 0 && n > DESCRIBE_CHECKS_MAX)
		r = jval_fail(v, err, "%zu checks, more than %d", n, DESCRIBE_CHECKS_MAX);
	if (r < 0 || n == 0)
		return r;
	d->checks = xcalloc(n, sizeof(*d->checks));
	d->n_checks = n;
	for (i = 0; r == 0 && i < n; i++) {
		struct jval item = jval_at(v, i);

		r = jval_decode(&item, check_fields, ARRAY_SIZE(check_fields), 0, &d->checks[i],
				err);
	}
	return r;
}

static int decode(const struct strbuf *text, struct describe *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct describe d = { 0 };
	struct jval root, checks;
	int r = json_parse(strbuf_text(text), text->len, "--describe", &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, "--describe");
	checks = jval_get(&root, "checks");
	r = jval_decode(&root, fields, ARRAY_SIZE(fields), 0, &d, err);
	if (r == 0)
		r = decode_checks(&checks, &d, err);
	if (r < 0)
		describe_release(&d);
	else
		*ret = d;
	return r;
}

/* Start it in its own process group, with stdout to `out_fd` and stdin and stderr to /dev/null. */
static int start(const char *path, int out_fd, pid_t *ret_pid)
{
	char word[] = "--describe";
	CLEANUP(freep) char *name = xstrdup(path);
	char *argv[] = { name, word, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int r;

	if (posix_spawn_file_actions_init(&files) != 0 || posix_spawnattr_init(&attributes) != 0)
		return -ENOMEM;
	(void)posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&files, out_fd, STDOUT_FILENO);
	(void)posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	(void)posix_spawnattr_setpgroup(&attributes, 0);
	r = posix_spawn(ret_pid, path, &files, &attributes, argv, environ);
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&files);
	return -r;
}

/* Read until end of file, the limit or the deadline. */
static int read_answer(int fd, uint64_t deadline_us, struct strbuf *text, struct err *err)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char bytes[4096];
	ssize_t n = 1;

	while (n > 0) {
		int left_ms = clock_left_ms(deadline_us);

		if (left_ms == 0)
			return err_set(err, ETIMEDOUT, "did not answer in time");
		if (poll(&p, 1, left_ms) <= 0)
			continue;
		n = read(fd, bytes, sizeof(bytes));
		if (n > 0 && strbuf_add(text, bytes, (size_t)n) < 0)
			return err_set(err, E2BIG, "answered more than %d bytes",
				       DESCRIBE_OUTPUT_MAX);
	}
	return n < 0 ? err_errno(err, errno, "cannot read its answer") : 0;
}

/* Wait for its exit until the deadline: it may close stdout and keep running. */
static bool wait_end(pid_t pid, uint64_t deadline_us)
{
	CLEANUP(closep) int fd = pidfd_open(pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int left_ms;

	while (fd >= 0 && (left_ms = clock_left_ms(deadline_us)) > 0) {
		if (poll(&p, 1, left_ms) > 0)
			return true;
	}
	return false;
}

/* Kill its process group in any case, so that nothing is left, and reap it. */
static int finish(pid_t pid, uint64_t deadline_us, struct err *err)
{
	bool ended = wait_end(pid, deadline_us);
	int status = 0;

	(void)kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!ended)
		return err_set(err, ETIMEDOUT, "did not end in time");
	if (WIFSIGNALED(status))
		return err_set(err, EIO, "died by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status) == 0 ? 0
					: err_set(err, EIO, "exit status %d", WEXITSTATUS(status));
}

int describe_ask(const char *path, uint64_t timeout_us, struct describe *ret, struct err *err)
{
	const uint64_t deadline_us = clock_mono_us() + timeout_us;
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(DESCRIBE_OUTPUT_MAX);
	CLEANUP(closep) int read_fd = -1;
	CLEANUP(closep) int write_fd = -1;
	int fds[2], r, end;
	pid_t pid = -1;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_errno(err, errno, "cannot make a pipe");
	read_fd = fds[0];
	write_fd = fds[1];
	r = start(path, write_fd, &pid);
	if (r < 0)
		return err_errno(err, -r, "cannot be started");
	closep(&write_fd);
	write_fd = -1;
	r = read_answer(read_fd, deadline_us, &text, err);
	/* Output that is too long, or from a process that was killed, is ignored. */
	end = finish(pid, r < 0 ? 0 : deadline_us, r < 0 ? NULL : err);
	if (r == 0)
		r = end;
	return r < 0 ? r : decode(&text, ret, err);
}
