/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/try_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* No output, no core file, and default handling of alarm and crashes. */
static void hush(void)
{
	static const int signals[] = { SIGALRM, SIGSEGV, SIGBUS, SIGABRT, SIGFPE };
	const struct rlimit none = { 0, 0 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t all;
	size_t i;

	if (null >= 0) {
		(void)dup2(null, STDOUT_FILENO);
		(void)dup2(null, STDERR_FILENO);
	}
	(void)setrlimit(RLIMIT_CORE, &none);
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		(void)signal(signals[i], SIG_DFL);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_UNBLOCK, &all, NULL);
}

int try_child(bool (*act)(const void *arg), const void *arg, unsigned limit_s)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		hush();
		(void)alarm(limit_s);
		_exit(act(arg) ? 0 : 1);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFEXITED(status))
		return WEXITSTATUS(status) == 0 ? 0 : -EINVAL;
	return WTERMSIG(status) == SIGALRM ? -ETIMEDOUT : -EFAULT;
}
