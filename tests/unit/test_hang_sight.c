/* SPDX-License-Identifier: Apache-2.0 */
/* Detecting the state of real processes from outside: each is put into that state. */
#include "agents/assayd/hang_sight.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/assayd/hang_call.h"
#include "agents/assayd/process_map.h"
#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_case.h"
#include "lib/sys/file.h"
#include "tests/unit/test.h"

enum { AGAIN_MS = 20 };

static void rest(void)
{
	(void)poll(NULL, 0, AGAIN_MS);
}

/* A child that does it, and dies with us. */
static pid_t start(void (*what)(void))
{
	const pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		what();
		_exit(0);
	}
	return pid;
}

static int open_process(pid_t pid)
{
	struct process_entry entry = { .pod = "" };
	int fd;

	CHECK_EQ(process_map_entry(pid, &entry), 0);
	fd = hang_sight_open(pid, entry.start_ticks);
	CHECK(fd >= 0);
	return fd;
}

/* Is it so within a minute, in two sights that are a second apart? */
static bool becomes(int fd, uint8_t process, struct hang_doing *ret)
{
	const uint64_t deadline_us = clock_mono_us() + USEC_PER_MIN;
	struct hang_sight before = { .at_us = 0 }, after;

	do {
		hang_sight_look(fd, clock_mono_us(), &after);
		hang_sight_judge(&before, &after, ret);
		if (ret->process == process)
			return true;
		if (after.at_us >= before.at_us + 2 * HANG_SIGHT_APART_US)
			before = after;
		rest();
	} while (clock_mono_us() < deadline_us);
	return false;
}

static void end(pid_t pid, int fd)
{
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	(void)close(fd);
}

static void wait_for_ever(void)
{
	for (;;)
		(void)pause();
}

static void spin(void)
{
	volatile unsigned long n = 0;

	for (;;)
		n++;
}

/* It computes, and sleeps in between. */
static void work(void)
{
	volatile unsigned long n = 0;

	for (;;) {
		if (++n % 1000000 == 0)
			(void)poll(NULL, 0, 1);
	}
}

static void copy(void)
{
	static char bytes[64 * 1024];
	const int from = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	for (;;)
		(void)!read(from, bytes, sizeof(bytes));
}

/* A vfork() returns when the child has ended: until then its parent waits in D. */
static void wait_in_disk_for_a_child(void)
{
	if (vfork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		wait_for_ever();
	}
}

static void be_traced(void)
{
	(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	(void)raise(SIGSTOP);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *hold(void *how)
{
	(void)pthread_mutex_lock(&lock);
	(*(void (**)(void))how)();
	return NULL;
}

static void hold_and(void (*how)(void))
{
	pthread_t thread;

	(void)pthread_create(&thread, NULL, hold, &how);
	while (pthread_mutex_trylock(&lock) == 0) {
		(void)pthread_mutex_unlock(&lock);
		rest();
	}
	(void)pthread_mutex_lock(&lock);
}

static void wait_for_one_who_waits(void)
{
	hold_and(wait_for_ever);
}

static void wait_for_one_who_spins(void)
{
	hold_and(spin);
}

static void wait_for_one_in_disk(void)
{
	hold_and(wait_in_disk_for_a_child);
}

/* As Python waits for its interpreter: again and again, for 5 ms. */
static void ask_for_a_lock_again_and_again(void)
{
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t change = PTHREAD_COND_INITIALIZER;
	struct timespec until;

	(void)pthread_mutex_lock(&own);
	for (;;) {
		(void)clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 5000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		(void)pthread_cond_timedwait(&change, &own, &until);
	}
}

static void what_processes_do_is_told_apart(void)
{
	static const struct {
		const char *name;
		void (*what)(void);
		uint8_t process;
		const char *call; /* where it is always the same */
		size_t spinning;
		bool still;
	} rows[] = {
		{ "sleeping", wait_for_ever, HANG_PROCESS_SLEEPING, NULL, 0, true },
		{ "spinning", spin, HANG_PROCESS_SPINNING, NULL, 1, false },
		{ "running", work, HANG_PROCESS_RUNNING, NULL, 0, false },
		{ "copying", copy, HANG_PROCESS_RUNNING, NULL, 0, false },
		{ "disk", wait_in_disk_for_a_child, HANG_PROCESS_DISK, NULL, 0, true },
		{ "traced", be_traced, HANG_PROCESS_TRACED, NULL, 0, false },
		{ "futex", wait_for_one_who_waits, HANG_PROCESS_FUTEX, "futex", 0, true },
		{ "futex, spinning", wait_for_one_who_spins, HANG_PROCESS_FUTEX, "futex", 1, true },
		{ "futex, disk", wait_for_one_in_disk, HANG_PROCESS_DISK, NULL, 0, true },
		{ "interpreter", ask_for_a_lock_again_and_again, HANG_PROCESS_FUTEX, "futex", 0,
		  false },
	};
	struct hang_doing doing = { .process = HANG_PROCESS_UNKNOWN };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const pid_t pid = start(rows[i].what);
		const int fd = open_process(pid);
		const bool so = becomes(fd, rows[i].process, &doing);

		if (!so)
			printf("%s: process %d call %s wchan %s\n", rows[i].name, doing.process,
			       doing.call, doing.wchan);
		CHECK(so);
		if (rows[i].call)
			CHECK_STR(doing.call, rows[i].call);
		if (rows[i].still)
			CHECK(doing.still);
		CHECK(doing.n_spinning == rows[i].spinning);
		CHECK_EQ(hang_sight_stands(&doing), rows[i].process == HANG_PROCESS_DISK);
		end(pid, fd);
	}
}

static void one_that_is_stopped_is_so_at_first_sight_and_goes_on(void)
{
	const pid_t pid = start(wait_for_ever);
	const int fd = open_process(pid);
	struct hang_doing doing;

	CHECK_EQ(kill(pid, SIGSTOP), 0);
	CHECK(becomes(fd, HANG_PROCESS_STOPPED, &doing));
	CHECK(hang_sight_stands(&doing));
	CHECK_EQ(kill(pid, SIGCONT), 0);
	CHECK(becomes(fd, HANG_PROCESS_SLEEPING, &doing));
	CHECK(!hang_sight_stands(&doing));
	end(pid, fd);
}

static void who_has_ended_is_a_zombie_then_gone_and_never_somebody_else(void)
{
	const pid_t pid = start(wait_for_ever);
	const int fd = open_process(pid);
	struct process_entry entry = { .pod = "" };
	struct hang_doing doing;

	CHECK_EQ(process_map_entry(pid, &entry), 0);
	CHECK_EQ(hang_sight_open(pid, entry.start_ticks + 1), -ESRCH);
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK(becomes(fd, HANG_PROCESS_ZOMBIE, &doing));
	CHECK(!hang_sight_stands(&doing));
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK(becomes(fd, HANG_PROCESS_GONE, &doing));
	CHECK_EQ(hang_sight_open(pid, entry.start_ticks), -ESRCH);
	(void)close(fd);
}

/* --- a file system that does not answer --- */

static char *mount_dir;

static void on_alarm(int signal_number UNUSED)
{
}

/* First it waits so that a signal may end it; after one, in D. */
static void ask_file_system(void)
{
	CLEANUP(freep) char *path = xasprintf("%s/file", mount_dir);

	(void)open(path, O_RDONLY | O_CLOEXEC);
}

static void ask_file_system_with_an_alarm(void)
{
	(void)signal(SIGALRM, on_alarm);
	(void)alarm(1);
	ask_file_system();
}

/* Only the first question is answered: that it speaks the protocol at all. */
static bool answer_first(int fuse)
{
	struct {
		struct fuse_out_header header;
		struct fuse_init_out init;
	} answer = { .header = { .len = sizeof(answer) },
		     .init = { .major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION } };
	struct pollfd p = { .fd = fuse, .events = POLLIN };
	static char question[64 * 1024];
	const struct fuse_in_header *header = (const struct fuse_in_header *)(const void *)question;

	if (poll(&p, 1, 10000) <= 0 || read(fuse, question, sizeof(question)) <= 0)
		return false;
	answer.header.unique = header->unique;
	return write(fuse, &answer, sizeof(answer)) == (ssize_t)sizeof(answer);
}

/* In a namespace of mounts of this process alone. */
static int mount_silent(void)
{
	CLEANUP(closep) int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[96];
	int r;

	if (fuse < 0 || unshare(CLONE_NEWNS) < 0 || mount("", "/", "", MS_REC | MS_PRIVATE, "") < 0)
		return -1;
	(void)snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	if (mount("silent", mount_dir, "fuse", 0, options) < 0)
		return -1;
	CHECK(answer_first(fuse));
	r = fuse;
	fuse = -1;
	return r;
}

static void who_waits_for_a_file_system_is_in_disk(void)
{
	static void (*const ways[])(void) = { ask_file_system, ask_file_system_with_an_alarm };
	CLEANUP(closep) int fuse = -1;
	struct hang_doing doing;
	size_t i;

	mount_dir = xasprintf("%s/silent", test_dir());
	CHECK_EQ(mkdir(mount_dir, 0700), 0);
	fuse = mount_silent();
	if (fuse < 0)
		test_skip("no file system can be mounted here (/dev/fuse, and root)");
	for (i = 0; fuse >= 0 && i < ARRAY_SIZE(ways); i++) {
		const pid_t pid = start(ways[i]);
		const int fd = open_process(pid);
		struct hang_sight sight = { .at_us = 0 };
		const uint64_t deadline_us = clock_mono_us() + USEC_PER_MIN;

		while (i == 1 && (!sight.n_noted || sight.noted[0].state != 'D') &&
		       clock_mono_us() < deadline_us) {
			hang_sight_look(fd, clock_mono_us(), &sight);
			rest();
		}
		CHECK(i == 0 || sight.noted[0].state == 'D');
		CHECK(becomes(fd, HANG_PROCESS_DISK, &doing));
		CHECK_STR(doing.call, "openat");
		CHECK(hang_sight_stands(&doing));
		end(pid, fd);
	}
	(void)umount2(mount_dir, MNT_DETACH);
	(void)rmdir(mount_dir);
	free(TAKE(mount_dir));
}

/* --- by the numbers --- */

static struct hang_sight sight_of(uint64_t at_us, char state, uint64_t switches, const char *wchan)
{
	struct hang_sight s = { .at_us = at_us, .n_threads = 1, .n_noted = 1 };

	s.noted[0] = (struct hang_thread){ .tid = 7, .state = state, .switches = switches };
	(void)snprintf(s.noted[0].wchan, sizeof(s.noted[0].wchan), "%s", wchan);
	return s;
}

static void what_moved_between_two_sights_does_not_stand(void)
{
	static const struct {
		char before, after;
		uint64_t apart_us, switches;
		const char *wchan;
		uint8_t process;
	} rows[] = {
		{ 'D', 'D', USEC_PER_SEC, 0, "io_schedule", HANG_PROCESS_DISK },
		{ 'D', 'D', USEC_PER_SEC, 1, "io_schedule", HANG_PROCESS_RUNNING },
		{ 'S', 'D', USEC_PER_SEC, 0, "io_schedule", HANG_PROCESS_RUNNING },
		{ 'D', 'D', USEC_PER_SEC / 2, 0, "io_schedule", HANG_PROCESS_UNKNOWN },
		{ 'D', 'D', USEC_PER_SEC, 0, "__refrigerator", HANG_PROCESS_STOPPED },
		{ 'S', 'S', USEC_PER_SEC, 0, "do_freezer_trap", HANG_PROCESS_STOPPED },
		{ 'S', 'S', USEC_PER_SEC, 0, "request_wait_answer", HANG_PROCESS_DISK },
		{ 'S', 'S', USEC_PER_SEC, 1, "request_wait_answer", HANG_PROCESS_SLEEPING },
		{ 'S', 'S', USEC_PER_SEC, 0, "", HANG_PROCESS_SLEEPING },
		{ 'T', 'S', USEC_PER_SEC, 0, "", HANG_PROCESS_RUNNING },
		{ 'S', 'T', USEC_PER_SEC, 0, "", HANG_PROCESS_STOPPED },
	};
	const struct hang_sight none = { .at_us = 0 };
	struct hang_doing doing;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct hang_sight before = sight_of(5, rows[i].before, 3, rows[i].wchan);
		const struct hang_sight after = sight_of(5 + rows[i].apart_us, rows[i].after,
							 3 + rows[i].switches, rows[i].wchan);

		hang_sight_judge(&before, &after, &doing);
		CHECK_EQ(doing.process, rows[i].process);
		hang_sight_judge(&none, &after, &doing);
		CHECK(doing.process == HANG_PROCESS_UNKNOWN ||
		      doing.process == HANG_PROCESS_STOPPED);
	}
}

static void calls_have_names(void)
{
	char name[HANG_SIGHT_WORD_SIZE];

	hang_call_name(-1, name, sizeof(name));
	CHECK_STR(name, "");
	hang_call_name(99999, name, sizeof(name));
	CHECK_STR(name, "call 99999");
	CHECK(!hang_call_is_futex(99999));
}

static const struct test tests[] = {
	TEST(what_processes_do_is_told_apart),
	TEST(one_that_is_stopped_is_so_at_first_sight_and_goes_on),
	TEST(who_has_ended_is_a_zombie_then_gone_and_never_somebody_else),
	TEST(what_moved_between_two_sights_does_not_stand),
	TEST(calls_have_names),
	TEST(who_waits_for_a_file_system_is_in_disk),
};

TEST_SUITE(tests);
