/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/trace_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SCRIPT_FD = 3, NICE = 19, FILES_MAX = 32, PRIVATE = 077 };

/* --- the filter --- */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0 /* matches nothing: no converter starts */
#endif

#define FOREIGN 0x40000000 /* calls of the x32 ABI, which have numbers of their own */
#define WRITES (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND)

#define OF(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define GIVE(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define ERROR(code) GIVE(SECCOMP_RET_ERRNO | (code))
#define DENY(call, code) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), ERROR(code)
/* Allow an open call only for reading. Its flags are argument `n`, on little-endian machines. */
#define READ_ONLY(call, n)                                                         \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 4), OF(args[n]),        \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, WRITES, 0, 1), ERROR(EACCES), \
		GIVE(SECCOMP_RET_ALLOW)

static const struct sock_filter filter[] = {
	OF(arch),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
	GIVE(SECCOMP_RET_KILL_PROCESS),
	OF(nr),
	BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FOREIGN, 0, 1),
	ERROR(ENOSYS),
	/* No network, no IPC. */
	DENY(socket, EPERM),
	DENY(socketpair, EPERM),
	DENY(connect, EPERM),
	DENY(bind, EPERM),
	DENY(listen, EPERM),
	DENY(io_uring_setup, EPERM),
	/* No processes. glibc uses clone() if there is no clone3(). */
	DENY(clone3, ENOSYS),
	DENY(clone, EPERM),
	DENY(unshare, EPERM),
	DENY(setns, EPERM),
	/* No access to other processes of the user. */
	DENY(kill, EPERM),
	DENY(tkill, EPERM),
	DENY(tgkill, EPERM),
	DENY(rt_sigqueueinfo, EPERM),
	DENY(pidfd_open, EPERM),
	DENY(ptrace, EPERM),
	DENY(process_vm_readv, EPERM),
	DENY(process_vm_writev, EPERM),
	DENY(prlimit64, EPERM),
	DENY(setpriority, EPERM),
	DENY(shmget, EPERM),
	DENY(msgget, EPERM),
	DENY(mq_open, EPERM),
	/* Kernel interfaces that a converter does not need. */
	DENY(bpf, EPERM),
	DENY(perf_event_open, EPERM),
	DENY(userfaultfd, EPERM),
	DENY(keyctl, EPERM),
	DENY(add_key, EPERM),
	DENY(request_key, EPERM),
	/* No changes to files. */
	DENY(openat2, ENOSYS),
	DENY(mkdirat, EPERM),
	DENY(mknodat, EPERM),
	DENY(unlinkat, EPERM),
	DENY(linkat, EPERM),
	DENY(symlinkat, EPERM),
	DENY(renameat2, EPERM),
	DENY(fchmodat, EPERM),
	DENY(fchmod, EPERM),
	DENY(fchownat, EPERM),
	DENY(fchown, EPERM),
	DENY(truncate, EPERM),
	DENY(ftruncate, EPERM),
	DENY(utimensat, EPERM),
	DENY(setxattr, EPERM),
#if defined(__x86_64__)
	DENY(fork, EPERM),
	DENY(vfork, EPERM),
	DENY(creat, EPERM),
	DENY(mkdir, EPERM),
	DENY(rmdir, EPERM),
	DENY(mknod, EPERM),
	DENY(unlink, EPERM),
	DENY(link, EPERM),
	DENY(symlink, EPERM),
	DENY(rename, EPERM),
	DENY(chmod, EPERM),
	DENY(chown, EPERM),
	DENY(lchown, EPERM),
	READ_ONLY(open, 1),
#endif
	DENY(renameat, EPERM),
	READ_ONLY(openat, 2),
	GIVE(SECCOMP_RET_ALLOW),
};

static int shut_in(void)
{
	/* The kernel only reads it. */
	const struct sock_fprog program = { ARRAY_SIZE(filter),
					    (struct sock_filter *)(uintptr_t)filter };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

/* --- credentials --- */

static bool limit(int resource, rlim_t most)
{
	const struct rlimit limits = { most, most };

	return setrlimit((__rlimit_resource_t)resource, &limits) == 0;
}

static bool set_limits(void)
{
	return limit(RLIMIT_AS, TRACE_SANDBOX_MEMORY_MAX) &&
	       limit(RLIMIT_CPU, TRACE_SANDBOX_CPU_S) && limit(RLIMIT_FSIZE, 0) &&
	       limit(RLIMIT_CORE, 0) && limit(RLIMIT_NOFILE, FILES_MAX);
}

/* Without root we cannot change the user, and have no privileges to drop. */
static bool become(uid_t uid, gid_t gid)
{
	if (geteuid() != 0)
		return geteuid() == uid;
	return syscall(SYS_setgroups, (size_t)0, NULL) == 0 &&
	       syscall(SYS_setresgid, gid, gid, gid) == 0 &&
	       syscall(SYS_setresuid, uid, uid, uid) == 0;
}

/* Leaving root drops them; this drops inheritable ones too. */
static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0, 0, 0 } };

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	(void)syscall(SYS_capset, &header, none);
}

/* dup2() them to their numbers; none is overwritten, since all are above SCRIPT_FD. */
static bool place_descriptors(const struct trace_sandbox *s)
{
	return dup2(s->in, STDIN_FILENO) >= 0 && dup2(s->out, STDOUT_FILENO) >= 0 &&
	       dup2(s->err, STDERR_FILENO) >= 0 && dup2(s->script, SCRIPT_FD) >= 0 &&
	       syscall(SYS_close_range, SCRIPT_FD + 1, ~0U, 0) == 0;
}

_Noreturn void trace_sandbox_exec(const struct trace_sandbox *s)
{
	static char path[] = "PATH=/usr/bin:/bin", language[] = "LC_ALL=C.UTF-8";
	char *const environment[] = { path, language, NULL };
	sigset_t none;

	(void)sigemptyset(&none);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	(void)umask(PRIVATE);
	if (!place_descriptors(s) || chdir("/") < 0 || !set_limits() || !become(s->uid, s->gid))
		_exit(TRACE_SANDBOX_FAILED);
	drop_capabilities();
	/* Last, because a change of user clears it. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != s->parent || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || shut_in() < 0)
		_exit(TRACE_SANDBOX_FAILED);
	(void)execve(s->program, s->argv, environment);
	_exit(TRACE_SANDBOX_NO_PROGRAM);
}
