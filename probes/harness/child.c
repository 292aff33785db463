/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/harness/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/sys/file.h"

static int start(char *const argv[], int output_fd, pid_t *ret_pid)
{
	static char *const no_environment[] = { NULL };
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	if (r)
		return -r;
	r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!r)
		r = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY,
						     0);
	if (!r)
		r = posix_spawn_file_actions_adddup2(&actions, output_fd, STDOUT_FILENO);
	if (!r)
		r = posix_spawn(ret_pid, argv[0], &actions, NULL, argv, no_environment);
	(void)posix_spawn_file_actions_destroy(&actions);
	return -r;
}

/* Wait for its exit status; if it lingers after closing its output, kill it at the deadline. */
static int end(pid_t pid, uint64_t deadline_us)
{
	CLEANUP(closep) int fd = pidfd_open(pid, 0);
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	int status = 0;

	if (fd < 0 || poll(&ready, 1, clock_left_ms(deadline_us)) != 1)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

int child_read(char *const argv[], uint64_t deadline_us, struct strbuf *ret)
{
	int fds[2], status, r;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	r = start(argv, fds[1], &pid);
	(void)close(fds[1]);
	if (r < 0) {
		(void)close(fds[0]);
		return r;
	}
	r = file_read_until(fds[0], deadline_us, ret);
	(void)close(fds[0]);
	status = end(pid, r == 0 ? deadline_us : 0);
	return r < 0 ? r : status;
}
