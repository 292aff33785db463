/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that touch a live job: RAS queries over a socket, and py-spy, with the fakes in
 * tests/fakes that behave like the real ones; and detecting a process's NCCL.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <systemd/sd-event.h>

#include "agents/assayd/nccl_version.h"
#include "agents/assayd/pyspy.h"
#include "agents/assayd/ras_client.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_case.h"
#include "lib/hang/hang_ras.h"
#include "lib/hang/hang_stack.h"
#include "lib/sys/file.h"
#include "tests/unit/ras_fixture.h"
#include "tests/unit/test.h"

enum { PORT_TEXT = 16, SCRIPT_MAX = 64 * 1024, RANKS = 4, MODE_EXECUTE = 0755 };

#define PATIENCE_US (60 * USEC_PER_SEC)
#define HURRY_US (300 * USEC_PER_MSEC)

/* --- RAS --- */

struct server {
	pid_t pid;
	int in;	    /* it serves until this is closed */
	FILE *said; /* its port, and what it was asked */
	char address[PORT_TEXT + 16];
};

struct heard {
	unsigned calls;
	char *text, why[ERR_MSG_SIZE];
	size_t size;
};

static void on_answer(void *context, const char *text, size_t size, const char *why)
{
	struct heard *h = context;

	h->calls++;
	h->text = text ? xalloc_copy(text, size) : NULL;
	h->size = size;
	(void)snprintf(h->why, sizeof(h->why), "%s", why ? why : "");
}

static bool serve(struct server *s, const char *answer, const char *how, bool json)
{
	char python[] = "python3", flag[] = "--how", old[] = "--no-json";
	CLEANUP(freep) char *script = test_source("tests/fakes/ras_server.py");
	CLEANUP(freep) char *file = xstrdup(answer);
	CLEANUP(freep) char *manner = xstrdup(how);
	char *argv[] = { python, script, file, flag, manner, json ? NULL : old, NULL };
	int in[2], out[2];
	char port[PORT_TEXT] = "";

	if (pipe(in) < 0 || pipe(out) < 0)
		return false;
	s->pid = fork();
	if (s->pid == 0) {
		(void)dup2(in[0], STDIN_FILENO);
		(void)dup2(out[1], STDOUT_FILENO);
		(void)close(in[1]);
		(void)execv("/usr/bin/python3", argv);
		_exit(1);
	}
	(void)close(in[0]);
	(void)close(out[1]);
	s->in = in[1];
	s->said = fdopen(out[0], "r");
	if (fgets(port, sizeof(port), s->said))
		port[strcspn(port, "\n")] = '\0';
	(void)snprintf(s->address, sizeof(s->address), "127.0.0.1:%s", port);
	return port[0] != '\0';
}

static void stop(struct server *s)
{
	(void)close(s->in);
	(void)fclose(s->said);
	(void)kill(s->pid, SIGKILL);
	(void)waitpid(s->pid, NULL, 0);
}

/* Ask, and run the loop until it is answered. */
static void ask(const char *address, const char *version, uint64_t answer_us, struct heard *h)
{
	const uint64_t deadline_us = clock_mono_us() + PATIENCE_US;
	struct ras_client *c;
	struct err err = ERR_INIT;
	sd_event *loop = NULL;

	CHECK(sd_event_new(&loop) >= 0);
	c = ras_client_new(loop, address, on_answer, h);
	ras_client_hurry(c, answer_us);
	CHECK_EQ(ras_client_ask(c, version, &err), 0);
	CHECK_STR(err.msg, "");
	CHECK_EQ(ras_client_ask(c, version, &err), -EBUSY);
	while (!h->calls && clock_mono_us() < deadline_us)
		(void)sd_event_run(loop, USEC_PER_SEC);
	CHECK_EQ(h->calls, 1);
	CHECK(!ras_client_asks(c));
	ras_client_free(c);
	(void)sd_event_unref(loop);
}

static void make_job(struct ras_fixture_rank ranks[static RANKS], struct ras_fixture_comm *comm)
{
	size_t i;

	for (i = 0; i < RANKS; i++)
		ranks[i] = (struct ras_fixture_rank){ .rank = (unsigned)i,
						      .counts = { 0, 0, 0, 0, 7 - (i == 2) } };
	ranks[3].state = RAS_FIXTURE_SILENT;
	*comm = (struct ras_fixture_comm){ 0xabc, ranks, RANKS };
}

static const struct {
	const char *version, *how, *why; /* NULL: it is answered */
	bool json;
	uint64_t answer_us;
} conversations[] = {
	{ "2.29.7", "whole", NULL, true, PATIENCE_US },
	{ "2.28.9", "whole", NULL, true, PATIENCE_US }, /* without its comma */
	{ "2.25.1", "whole", NULL, false, PATIENCE_US },
	{ "2.29.7", "slow", NULL, true, PATIENCE_US },
	{ "2.29.7", "silent", "does not answer in time", true, HURRY_US },
	{ "2.29.7", "dumb", "does not answer in time", true, HURRY_US },
	{ "2.29.7", "huge", "answers with more than 4 MiB", true, PATIENCE_US },
	{ "2.29.7", "strange", "answers \"HTTP/1.1 400 Bad Request", true, PATIENCE_US },
	/* The port is another job's, whose NCCL is older. */
	{ "2.29.7", "whole", "answers \"ERROR: Unknown command SET FORMAT json\"", false,
	  PATIENCE_US },
};

static void ras_is_asked_and_answers(void)
{
	static const char *const hosts[] = { "10.0.0.1" };
	static const struct hang_ras_process processes[] = { { 101, 1 }, { 102, 2 } };
	const struct hang_ras_known known = { .hosts = hosts,
					      .n_hosts = 1,
					      .processes = processes,
					      .n_processes = ARRAY_SIZE(processes),
					      .world = RANKS };
	struct ras_fixture_rank ranks[RANKS];
	struct ras_fixture_comm comm;
	size_t i;

	make_job(ranks, &comm);
	for (i = 0; i < ARRAY_SIZE(conversations); i++) {
		const char *version = conversations[i].version;
		CLEANUP(freep)
		char *answer =
			conversations[i].json
				? ras_fixture_json(version, !streq(version, "2.28.9"), &comm, 1)
				: ras_fixture_text(version, &comm, 1);
		CLEANUP(freep) char *path = test_file("answer", answer);
		CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
		struct hang_ras_told told;
		struct server s;
		struct heard h = { .calls = 0 };
		struct err err = ERR_INIT;

		CHECK(serve(&s, path, conversations[i].how, conversations[i].json));
		ask(s.address, version, conversations[i].answer_us, &h);
		stop(&s);
		CHECK_EQ(h.text != NULL, conversations[i].why == NULL);
		if (conversations[i].why) {
			CHECK_HAS(h.why, conversations[i].why);
		} else {
			CHECK_STR(h.text, answer);
			CHECK_EQ(hang_ras_read(h.text, h.size, &known, &c, &told, &err), 0);
			CHECK_STR(told.version, version);
			CHECK_EQ(c.n_positions, RANKS - 1);
		}
		free(h.text);
	}
}

static void half_an_answer_is_refused_by_its_reader(void)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	struct ras_fixture_rank ranks[RANKS];
	struct ras_fixture_comm comm;
	struct hang_ras_told told;
	struct err err = ERR_INIT;
	struct heard h = { .calls = 0 };
	struct server s;
	CLEANUP(freep) char *answer = NULL;
	CLEANUP(freep) char *path = NULL;

	make_job(ranks, &comm);
	answer = ras_fixture_json("2.28.9", false, &comm, 1);
	path = test_file("answer", answer);
	CHECK(serve(&s, path, "cut", true));
	ask(s.address, "2.28.9", PATIENCE_US, &h);
	stop(&s);
	CHECK_EQ(hang_ras_read(h.text, h.size, NULL, &c, &told, &err), -EINVAL);
	CHECK_HAS(err.msg, "RAS: ");
	CHECK_EQ(c.n_ranks, 0);
	free(h.text);
}

static void where_nothing_listens_that_is_said(void)
{
	struct heard h = { .calls = 0 };

	/* Port 1 is tcpmux: nobody runs it. */
	ask("127.0.0.1:1", "2.29.7", PATIENCE_US, &h);
	CHECK_EQ(h.text == NULL, true);
	CHECK_HAS(h.why, "RAS at 127.0.0.1:1: Connection refused");
}

static void versions_that_are_not_listed_are_never_asked(void)
{
	static const struct {
		const char *version, *words;
	} rows[] = {
		{ NULL, "the job's version of NCCL" },	{ "", "the job's version of NCCL" },
		{ "2.27.7", "nccl issue 1762" },	{ "2.31.2", "not among the versions" },
		{ "2.23.4", "not among the versions" },
	};
	struct heard h = { .calls = 0 };
	sd_event *loop = NULL;
	struct ras_client *c;
	size_t i;

	CHECK(sd_event_new(&loop) >= 0);
	c = ras_client_new(loop, "127.0.0.1:1", on_answer, &h);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = ERR_INIT;

		CHECK_EQ(ras_client_ask(c, rows[i].version, &err), -EOPNOTSUPP);
		CHECK_HAS(err.msg, rows[i].words);
		CHECK(!ras_client_asks(c));
	}
	ras_client_free(c);
	(void)sd_event_unref(loop);
}

static void a_question_that_is_dropped_is_never_answered(void)
{
	struct heard h = { .calls = 0 };
	struct err err = ERR_INIT;
	sd_event *loop = NULL;
	struct ras_client *c;

	CHECK(sd_event_new(&loop) >= 0);
	c = ras_client_new(loop, "127.0.0.1:1", on_answer, &h);
	CHECK_EQ(ras_client_ask(c, "2.29.7", &err), 0);
	ras_client_free(c);
	(void)sd_event_run(loop, 0);
	CHECK_EQ(h.calls, 0);
	(void)sd_event_unref(loop);
}

/* --- py-spy --- */

struct seen {
	unsigned calls;
	pid_t pid;
	bool found;
	struct hang_stack stack;
	char why[ERR_MSG_SIZE];
};

static void on_seen(void *context, pid_t pid, const struct hang_stack *stack, const char *why)
{
	struct seen *s = context;

	s->calls++;
	s->pid = pid;
	s->found = stack != NULL;
	if (stack)
		s->stack = *stack;
	(void)snprintf(s->why, sizeof(s->why), "%s", why ? why : "");
}

/* The fake, as a file of its own beside its mode; new memory. */
static char *install(const char *mode)
{
	CLEANUP(freep) char *fake = test_source("tests/fakes/py-spy");
	CLEANUP(freep) char *script = NULL;
	CLEANUP(freep) char *told = test_file("spy/py-spy.mode", mode);
	struct err err = ERR_INIT;
	char *path;

	CHECK_EQ(file_read(AT_FDCWD, fake, SCRIPT_MAX, &script, NULL, &err), 0);
	path = test_file("spy/py-spy", script);
	CHECK_EQ(chmod(path, MODE_EXECUTE), 0);
	return path;
}

static void look(const char *path, pid_t pid, uint64_t wall_us, struct seen *s)
{
	const uint64_t deadline_us = clock_mono_us() + PATIENCE_US;
	struct err err = ERR_INIT;
	sd_event *loop = NULL;
	struct pyspy *p;
	sigset_t mask;

	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &mask, NULL);
	CHECK(sd_event_new(&loop) >= 0);
	p = pyspy_new(loop, path, on_seen, s);
	pyspy_hurry(p, wall_us);
	CHECK_EQ(pyspy_look(p, pid, &err), 0);
	CHECK_STR(err.msg, "");
	CHECK_EQ(pyspy_look(p, pid, &err), -EBUSY);
	while (!s->calls && clock_mono_us() < deadline_us)
		(void)sd_event_run(loop, USEC_PER_SEC);
	CHECK_EQ(s->calls, 1);
	CHECK(!pyspy_looks(p));
	pyspy_free(p);
	(void)sd_event_unref(loop);
}

static const struct {
	const char *mode, *why; /* NULL: it sees */
	uint64_t wall_us;
} looks[] = {
	{ "", NULL, PATIENCE_US },
	{ "denied", "py-spy: Permission Denied", PATIENCE_US },
	{ "garbage", "py-spy: ", PATIENCE_US },
	{ "crash", "was killed by signal 11", PATIENCE_US },
	{ "huge", "it printed more than 1 MiB", PATIENCE_US },
	{ "slow", "it took too long", HURRY_US },
};

static void py_spy_looks_within_its_limits(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(looks); i++) {
		CLEANUP(freep) char *path = install(looks[i].mode);
		struct seen s = { .calls = 0 };

		look(path, getpid(), looks[i].wall_us, &s);
		CHECK_EQ(s.pid, getpid());
		CHECK_EQ(s.found, looks[i].why == NULL);
		if (looks[i].why)
			CHECK_HAS(s.why, looks[i].why);
		else
			CHECK_STR(s.stack.where, "next (loader.py:31)");
	}
}

static void a_process_that_is_gone_is_said(void)
{
	CLEANUP(freep) char *path = install("");
	struct seen s = { .calls = 0 };

	look(path, (1 << 22) + 1, PATIENCE_US, &s); /* above PID_MAX_LIMIT */
	CHECK(!s.found);
	CHECK_HAS(s.why, "py-spy: Error: Failed to open process");
}

static void a_program_that_others_can_change_is_not_run(void)
{
	static const struct {
		mode_t program, dir;
		int r;
	} rows[] = {
		{ 0755, 0755, 0 },	{ 0775, 0755, -EPERM }, { 0757, 0755, -EPERM },
		{ 0755, 0777, -EPERM }, { 0755, 01777, 0 },
	};
	CLEANUP(freep) char *path = install("");
	CLEANUP(freep) char *dir = xstrdup(path);
	sd_event *loop = NULL;
	size_t i;

	*strrchr(dir, '/') = '\0';
	CHECK(sd_event_new(&loop) >= 0);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct seen s = { .calls = 0 };
		struct pyspy *p = pyspy_new(loop, path, on_seen, &s);
		struct err err = ERR_INIT;

		CHECK_EQ(chmod(path, rows[i].program), 0);
		CHECK_EQ(chmod(dir, rows[i].dir), 0);
		CHECK_EQ(pyspy_look(p, getpid(), &err), rows[i].r);
		if (rows[i].r < 0)
			CHECK_HAS(err.msg, "is owned or writable by other users");
		pyspy_free(p);
	}
	(void)chmod(dir, MODE_EXECUTE);
	(void)sd_event_unref(loop);
}

static void where_it_is_not_installed_that_is_said(void)
{
	static const char *const paths[] = { NULL, "/nowhere/py-spy" };
	sd_event *loop = NULL;
	size_t i;

	CHECK(sd_event_new(&loop) >= 0);
	(void)setenv("PATH", "/nowhere:.:", 1);
	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		struct seen s = { .calls = 0 };
		struct pyspy *p = pyspy_new(loop, paths[i], on_seen, &s);
		struct err err = ERR_INIT;

		CHECK_EQ(pyspy_look(p, getpid(), &err), -ENOENT);
		CHECK_HAS(err.msg, paths[i] ? "/nowhere/py-spy: No such file" : "not found in PATH");
		pyspy_free(p);
	}
	(void)sd_event_unref(loop);
}

/* --- which NCCL --- */

#define LINE "7f0000000000-7f0000001000 r-xp 00000000 00:00 0    "

static void the_names_of_files_tell_which_nccl_a_process_has(void)
{
	static const struct {
		const char *path, *version; /* NULL: they do not */
	} rows[] = {
		{ "/usr/lib/x86_64-linux-gnu/libnccl.so.2.28.9", "2.28.9" },
		{ "/opt/site-packages/nvidia/nccl/lib/libnccl.so.2", "2.29.7" },
		{ "/opt/other/nvidia/nccl/lib/libnccl.so.2", NULL },
		{ "/usr/lib/libnccl.so.2", NULL },
		{ "/usr/lib/libnccl-net.so", NULL },
		{ "/opt/libnccl.so.2.28.9/libtorch_cuda.so", NULL },
		{ "/usr/lib/libnccl.so.2.28.9.1.1", NULL },
	};
	CLEANUP(freep)
	char *package = test_file(
		"proc/7/root/opt/site-packages/nvidia_nccl_cu12-2.29.7.dist-info/METADATA", "");
	CLEANUP(freep) char *other = test_file("proc/7/root/opt/other/nvidia_nccl_cu12", "");
	CLEANUP(freep) char *proc = xasprintf("%s/proc", test_dir());
	char version[NCCL_VERSION_SIZE];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep)
		char *maps =
			xasprintf(LINE "\n" LINE "/usr/bin/python3\n" LINE "%s\n", rows[i].path);
		CLEANUP(freep) char *path = test_file("proc/7/maps", maps);

		CHECK_EQ(nccl_version_of(proc, 7, version), rows[i].version ? 0 : -ENOENT);
		if (rows[i].version)
			CHECK_STR(version, rows[i].version);
	}
	CHECK_EQ(nccl_version_of(proc, 8, version), -ENOENT);
}

static const struct test tests[] = {
	TEST(ras_is_asked_and_answers),
	TEST(half_an_answer_is_refused_by_its_reader),
	TEST(where_nothing_listens_that_is_said),
	TEST(versions_that_are_not_listed_are_never_asked),
	TEST(a_question_that_is_dropped_is_never_answered),
	TEST(py_spy_looks_within_its_limits),
	TEST(a_process_that_is_gone_is_said),
	TEST(a_program_that_others_can_change_is_not_run),
	TEST(where_it_is_not_installed_that_is_said),
	TEST(the_names_of_files_tell_which_nccl_a_process_has),
};

TEST_SUITE(tests);
