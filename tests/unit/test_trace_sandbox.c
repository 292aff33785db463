/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/trace_sandbox.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "tests/unit/test.h"

#define PYTHON "/usr/bin/python3"

enum { SAID_MAX = 8192, ABOVE = 16, UID = 54321 };

static int status_of; /* of the last child */

/* Standard output and error of a script in the sandbox; new memory. */
static char *run(const char *script)
{
	CLEANUP(freep) char *path = test_file("script.py", script);
	CLEANUP(freep) char *input = test_file("input", "given\n");
	CLEANUP(strbuf_release) struct strbuf said = STRBUF_INIT(SAID_MAX);
	char name[] = "python3", isolated[] = "-IB", file[] = "/dev/fd/3";
	char *argv[] = { name, isolated, file, NULL };
	struct trace_sandbox s = { .uid = geteuid() ? geteuid() : UID,
				   .gid = getegid() ? getegid() : UID,
				   .program = PYTHON,
				   .argv = argv,
				   .parent = getpid() };
	int ends[2], read_only;
	char piece[512];
	ssize_t n;
	pid_t pid;

	CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
	read_only = open(path, O_RDONLY | O_CLOEXEC);
	s.script = fcntl(read_only, F_DUPFD_CLOEXEC, ABOVE);
	(void)close(read_only);
	read_only = open(input, O_RDONLY | O_CLOEXEC);
	s.in = fcntl(read_only, F_DUPFD_CLOEXEC, ABOVE);
	(void)close(read_only);
	s.out = s.err = fcntl(ends[1], F_DUPFD_CLOEXEC, ABOVE);
	(void)close(ends[1]);
	pid = fork();
	if (pid == 0)
		trace_sandbox_exec(&s);
	(void)close(s.script);
	(void)close(s.in);
	(void)close(s.out);
	while ((n = read(ends[0], piece, sizeof(piece))) > 0)
		(void)strbuf_add(&said, piece, (size_t)n);
	(void)close(ends[0]);
	CHECK_EQ(waitpid(pid, &status_of, 0), pid);
	return xstrdup(strbuf_text(&said));
}

static void it_reads_what_it_is_given_and_is_who_it_should_be(void)
{
	CLEANUP(freep)
	char *said = run("import os, sys\n"
			 "print(sys.stdin.read().strip(), os.getuid(), os.getgroups(), "
			 "os.getcwd(), dict(os.environ))\n"
			 "print(open('/proc/self/status').read())\n"
			 "print(sorted(os.listdir('/proc/self/fd')))\n");
	CLEANUP(freep) char *who = xasprintf("given %u ", geteuid() ? geteuid() : (unsigned)UID);

	CHECK_EQ(status_of, 0);
	CHECK_HAS(said, who);
	CHECK_HAS(
		said,
		"CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000");
	CHECK_HAS(said, "CapAmb:\t0000000000000000");
	CHECK_HAS(said, "NoNewPrivs:\t1\nSeccomp:\t2");
	CHECK_HAS(said, "/ {'PATH': '/usr/bin:/bin', 'LC_ALL': 'C.UTF-8'");
	/* Its script is read, its list of descriptors, and nothing of ours is open. */
	CHECK(!strstr(said, "'17'"));
}

static void it_can_do_none_of_these(void)
{
	static const struct {
		const char *what, *why;
	} rows[] = {
		{ "import socket; socket.socket()", "PermissionError" },
		{ "import socket; socket.socketpair()", "PermissionError" },
		{ "import os; os.fork()", "PermissionError" },
		{ "import subprocess; subprocess.run(['true'])", "PermissionError" },
		{ "import threading; threading.Thread(target=print).start()",
		  "can't start new thread" },
		{ "import os; os.kill(os.getppid(), 0)", "PermissionError" },
		{ "open('/tmp/assay-no-such', 'w')", "PermissionError" },
		{ "open('/dev/null', 'r+')", "PermissionError" },
		{ "import os; os.unlink('/dev/fd/3')", "PermissionError" },
		{ "import os; os.mkdir('/tmp/assay-no-such')", "PermissionError" },
		{ "import os; os.symlink('a', '/tmp/assay-no-such')", "PermissionError" },
		{ "import os; os.chmod('/dev/fd/0', 0o777)", "PermissionError" },
		{ "import os; os.fchmod(0, 0o777)", "PermissionError" },
		{ "x = bytes(2 << 30)", "MemoryError" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *said = run(rows[i].what);

		CHECK(status_of != 0);
		CHECK_HAS(said, rows[i].why);
	}
}

static const struct test tests[] = {
	TEST(it_reads_what_it_is_given_and_is_who_it_should_be),
	TEST(it_can_do_none_of_these),
};

TEST_SUITE(tests);
