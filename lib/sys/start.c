/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/start.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

void start_hold_standard(void)
{
	/* With the wrong access on purpose, so that using them fails (EBADF). */
	static const int modes[] = {
		[STDIN_FILENO] = O_WRONLY,
		[STDOUT_FILENO] = O_RDONLY,
		[STDERR_FILENO] = O_RDONLY,
	};
	int fd;

	/* open() returns the lowest free one; those below are in use by now. */
	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", modes[fd]); /* NOLINT: kept open for good */
	}
}

void start_program(void)
{
	start_hold_standard();
	(void)signal(SIGXFSZ, SIG_IGN);
}
