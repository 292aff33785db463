/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/yield.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

static const char yield_name[] = "yield";

struct yield {
	int epoll_fd;
	int signal_fd; /* eventfd written by the SIGUSR1 handler */
	int ask_fd;    /* inotify: $RUN/yield */
	int open_fd;   /* inotify: device nodes */
	char *devices[DEVICE_NODES_MAX];
	size_t n_devices;
};

/* All that a signal handler can reach. */
static int handler_fd = -1;

static void on_signal(int number UNUSED)
{
	const uint64_t one = 1;
	const int saved = errno;

	(void)!write(handler_fd, &one, sizeof(one));
	errno = saved;
}

static int watch_signal(struct yield *y)
{
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	y->signal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (y->signal_fd < 0)
		return -errno;
	handler_fd = y->signal_fd;
	return sigaction(SIGUSR1, &action, NULL) < 0 ? -errno : 0;
}

static int watch_ask(struct yield *y, const char *run_dir)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", run_dir, yield_name);
	CLEANUP(closep)
	int made = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);

	if (made < 0)
		return -errno;
	y->ask_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (y->ask_fd < 0)
		return -errno;
	/* Only a write counts, not our own open and close above. */
	return inotify_add_watch(y->ask_fd, path, IN_MODIFY) < 0 ? -errno : 0;
}

static void watch_devices(struct yield *y)
{
	size_t i;

	y->n_devices = device_nodes(y->devices);
	y->open_fd = y->n_devices ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1;
	for (i = 0; y->open_fd >= 0 && i < y->n_devices; i++)
		(void)inotify_add_watch(y->open_fd, y->devices[i], IN_OPEN);
}

static int add(const struct yield *y, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (fd < 0)
		return 0;
	return epoll_ctl(y->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int yield_open(const char *run_dir, struct yield **ret, struct err *err)
{
	CLEANUP(yield_closep) struct yield *y = xcalloc(1, sizeof(*y));
	int r;

	y->signal_fd = y->ask_fd = y->open_fd = -1;
	y->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (y->epoll_fd < 0)
		return err_errno(err, errno, "cannot watch for jobs");
	r = watch_signal(y);
	if (r < 0)
		return err_errno(err, -r, "cannot watch for SIGUSR1");
	(void)watch_ask(y, run_dir); /* if it fails, two other ways remain */
	watch_devices(y);
	r = add(y, y->signal_fd);
	if (r == 0)
		r = add(y, y->ask_fd);
	if (r == 0)
		r = add(y, y->open_fd);
	if (r < 0)
		return err_errno(err, -r, "cannot watch for jobs");
	*ret = TAKE(y);
	return 0;
}

void yield_close(struct yield *y)
{
	size_t i;

	if (!y)
		return;
	if (handler_fd >= 0 && handler_fd == y->signal_fd) {
		(void)signal(SIGUSR1, SIG_IGN);
		handler_fd = -1;
	}
	closep(&y->signal_fd);
	closep(&y->ask_fd);
	closep(&y->open_fd);
	closep(&y->epoll_fd);
	for (i = 0; i < y->n_devices; i++)
		free(y->devices[i]);
	free(y);
}

int yield_fd(const struct yield *y)
{
	return y->epoll_fd;
}

/* Read everything available from a non-blocking descriptor; true if there was anything. */
static bool drain(int fd)
{
	char bytes[4096];
	bool any = false;

	while (fd >= 0 && read(fd, bytes, sizeof(bytes)) > 0)
		any = true;
	return any;
}

bool yield_busy(const struct yield *y, char ret_why[static YIELD_WHY_SIZE])
{
	struct device_user user;

	if (!device_user_find(y->devices, y->n_devices, &user))
		return false;
	(void)snprintf(ret_why, YIELD_WHY_SIZE, "pid %ld (%s) uses %s", (long)user.pid,
		       user.command, user.device);
	return true;
}

bool yield_check(struct yield *y, char ret_why[static YIELD_WHY_SIZE])
{
	const bool signalled = drain(y->signal_fd);
	const bool asked = drain(y->ask_fd);
	const bool opened = drain(y->open_fd);

	if (signalled)
		(void)snprintf(ret_why, YIELD_WHY_SIZE, "SIGUSR1 came");
	else if (asked)
		(void)snprintf(ret_why, YIELD_WHY_SIZE, "`assay admit` was called");
	return signalled || asked || (opened && yield_busy(y, ret_why));
}

int yield_announce(const char *run_dir, struct err *err)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", run_dir, yield_name);
	CLEANUP(closep)
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_TRUNC | O_NONBLOCK);

	if (fd < 0 && errno == ENOENT)
		return 0; /* nobody has ever watched */
	if (fd < 0 || write(fd, "1\n", 2) != 2)
		return err_errno(err, errno, "cannot announce a job in %s", path);
	return 0;
}
