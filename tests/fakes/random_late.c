/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: a kernel whose random generator is not seeded yet, as early in boot, while the file
 * ASSAY_RANDOM_LATE exists. Calls with GRND_NONBLOCK fail with EAGAIN; blocking calls do not wait
 * but return real random bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

ssize_t getrandom(void *bytes, size_t length, unsigned flags)
{
	const char *path = getenv("ASSAY_RANDOM_LATE");

	if (path && (flags & GRND_NONBLOCK) && access(path, F_OK) == 0) {
		errno = EAGAIN;
		return -1;
	}
	return syscall(SYS_getrandom, bytes, length, flags);
}
