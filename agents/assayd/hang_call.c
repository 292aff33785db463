/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/hang_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/syscall.h>

#define CALL(name)                \
	{                         \
		SYS_##name, #name \
	}

static const struct {
	int64_t number;
	const char *name;
} calls[] = {
	CALL(accept),
	CALL(accept4),
	CALL(clock_nanosleep),
	CALL(clone),
	CALL(clone3),
	CALL(close),
	CALL(connect),
	CALL(copy_file_range),
	CALL(epoll_pwait),
	CALL(execve),
	CALL(exit_group),
	CALL(fallocate),
	CALL(fcntl),
	CALL(fdatasync),
	CALL(flock),
	CALL(fstat),
	CALL(fsync),
	CALL(ftruncate),
	CALL(futex),
	CALL(getdents64),
	CALL(io_getevents),
	CALL(io_uring_enter),
	CALL(ioctl),
	CALL(madvise),
	CALL(mmap),
	CALL(mq_timedreceive),
	CALL(msgrcv),
	CALL(munmap),
	CALL(nanosleep),
	CALL(newfstatat),
	CALL(openat),
	CALL(ppoll),
	CALL(pread64),
	CALL(preadv),
	CALL(pselect6),
	CALL(ptrace),
	CALL(pwrite64),
	CALL(pwritev),
	CALL(read),
	CALL(readv),
	CALL(recvfrom),
	CALL(recvmmsg),
	CALL(recvmsg),
	CALL(renameat2),
	CALL(restart_syscall),
	CALL(rt_sigsuspend),
	CALL(rt_sigtimedwait),
	CALL(sched_yield),
	CALL(semop),
	CALL(semtimedop),
	CALL(sendfile),
	CALL(sendmsg),
	CALL(sendto),
	CALL(splice),
	CALL(statx),
	CALL(sync),
	CALL(syncfs),
	CALL(unlinkat),
	CALL(wait4),
	CALL(waitid),
	CALL(write),
	CALL(writev),
#if defined(__x86_64__) /* others never had these */
	CALL(epoll_wait),
	CALL(open),
	CALL(pause),
	CALL(poll),
	CALL(select),
	CALL(stat),
	CALL(vfork),
#endif
};

void hang_call_name(int64_t number, char *ret, size_t size)
{
	size_t i;

	ret[0] = '\0';
	if (number < 0)
		return;
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		if (calls[i].number == number) {
			(void)snprintf(ret, size, "%s", calls[i].name);
			return;
		}
	}
	(void)snprintf(ret, size, "call %" PRId64, number);
}

bool hang_call_is_futex(int64_t number)
{
	/* futex_waitv and futex_wait, since Linux 5.16 and 6.7, the same on each architecture. */
	enum { FUTEX_WAITV = 449, FUTEX_WAIT = 455 };

	return number == SYS_futex || number == FUTEX_WAITV || number == FUTEX_WAIT;
}

static bool is_among(const char *word, const char *const *words, size_t n)
{
	size_t i;

	for (i = 0; i < n && !starts_with(word, words[i]); i++)
		;
	return i < n;
}

bool hang_call_is_file_system(const char *wchan)
{
	/* fs/fuse/dev.c: it waits interruptibly, so in state S. */
	static const char *const places[] = { "request_wait_answer", "fuse_" };

	return is_among(wchan, places, ARRAY_SIZE(places));
}

bool hang_call_is_frozen(const char *wchan)
{
	/* kernel/signal.c for cgroup v2, kernel/freezer.c for v1. */
	static const char *const places[] = { "do_freezer_trap", "__refrigerator" };

	return is_among(wchan, places, ARRAY_SIZE(places));
}
