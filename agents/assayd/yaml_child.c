/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/yaml_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"

#define CHILD_TIMEOUT_US (5 * USEC_PER_SEC)

/* Some YAML is longer as JSON: "\u0001" for one byte. */
enum { JSON_TEXT_MAX = 6 * JSON_PEOPLE_FILE_MAX };

static int spawn_reader(const char *program, const char *path, int out, pid_t *ret_pid)
{
	char name[] = "assay", command[] = "config";
	CLEANUP(freep) char *file = xstrdup(path);
	char *const argv[] = { name, command, file, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int r;

	(void)sigemptyset(&none);
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	(void)posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
	r = posix_spawn(ret_pid, program, &actions, &attributes, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attributes);
	return -r;
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int yaml_child_read(const char *path, json_t **ret_value, struct err *err)
{
	CLEANUP(freep) char *dir = paths_programs();
	CLEANUP(freep) char *program = xasprintf("%s/assay", dir);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(JSON_TEXT_MAX);
	CLEANUP(closep) int in = -1;
	int pipe_fds[2], r, status;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return err_errno(err, errno, "cannot make a pipe");
	in = pipe_fds[0];
	r = spawn_reader(program, path, pipe_fds[1], &pid);
	(void)close(pipe_fds[1]);
	if (r < 0)
		return err_errno(err, -r, "%s: cannot start %s to read it", path, program);
	r = file_read_until(in, clock_mono_us() + CHILD_TIMEOUT_US, &text);
	if (r < 0)
		(void)kill(pid, SIGKILL);
	status = wait_for(pid);
	if (r < 0)
		return err_errno(err, -r, "%s: %s cannot read it", path, program);
	if (status == 0)
		return json_parse(text.data ? text.data : "", text.len, path, ret_value, err);
	if (status != 2 || !text.len)
		return err_set(err, EIO, "%s: %s cannot read it", path, program);
	text.data[strcspn(text.data, "\n")] = '\0';
	return err_set(err, EINVAL, "%s", text.data);
}
