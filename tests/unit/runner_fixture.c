/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/runner_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "tests/unit/test.h"

#define MARK "ASSAY_TEST_MARK"

enum { ENVIRON_MAX = 1 << 20, LOOK_AGAIN_MS = 10 };

/*
 * Unique to this process, because tests run in parallel. This process and its
 * forks without an exec do not show it: their /proc/PID/environ is from the start.
 */
static const char *mark(void)
{
	static char text[64];

	if (!text[0]) {
		(void)snprintf(text, sizeof(text), MARK "=%ld", (long)getpid());
		(void)setenv(MARK, text + sizeof(MARK), 1);
	}
	return text;
}

char *fixture_script(const char *name, const char *body)
{
	CLEANUP(freep) char *text = xasprintf("#!/bin/sh\n%s", body);
	char *path = test_file(name, text);

	if (chmod(path, 0755) < 0)
		abort();
	return path;
}

int fixture_fifo(const char *name)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", test_dir(), name);
	int fd;

	(void)unlink(path);
	fd = mkfifo(path, 0600) < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		abort();
	(void)setenv(name, path, 1);
	return fd;
}

struct runner_options fixture_options(void)
{
	return (struct runner_options){
		.run_dir = test_dir(),
		.deadline_us = clock_mono_us() + 2 * LONG_US,
		.stop_fd = -1,
	};
}

void fixture_run(const char *body, uint64_t budget_us, struct report *ret)
{
	CLEANUP(freep) char *path = fixture_script("probe", body);
	struct runner_probe probe = { .name = "bad", .path = path, .budget_us = budget_us };
	struct runner_options options = fixture_options();
	struct err err = ERR_INIT;

	(void)mark();
	*ret = (struct report){ 0 };
	CHECK_EQ(runner_run(&probe, 1, &options, ret, &err), 0);
	CHECK_EQ(fixture_alive(), 0);
}

static bool has_mark(const char *pid)
{
	CLEANUP(freep) char *path = xasprintf("/proc/%s/environ", pid);
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(freep) char *text = xcalloc(ENVIRON_MAX + 1, 1);
	ssize_t n, got = 0;
	const char *at;

	if (fd < 0)
		return false;
	while ((n = read(fd, text + got, (size_t)(ENVIRON_MAX - got))) > 0)
		got += n;
	for (at = text; at < text + got; at += strlen(at) + 1)
		if (streq(at, mark()))
			return true;
	return false;
}

size_t fixture_alive(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	size_t n = 0;

	while (proc && (entry = readdir(proc)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			n += has_mark(entry->d_name);
	if (!proc)
		abort();
	(void)closedir(proc);
	return n;
}

size_t fixture_wait_gone(void)
{
	uint64_t deadline_us = clock_mono_us() + LONG_US;
	size_t n;

	while ((n = fixture_alive()) > 0 && clock_left_us(deadline_us) > 0)
		(void)poll(NULL, 0, LOOK_AGAIN_MS);
	return n;
}

size_t fixture_open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	while (dir && readdir(dir))
		n++;
	if (!dir)
		abort();
	(void)closedir(dir);
	return n;
}
