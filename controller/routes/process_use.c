/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/routes/process_use.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

static double start_s;

/* From /proc/self/statm (proc(5)): total, resident, in pages. */
static uint64_t resident_bytes(void)
{
	CLEANUP(freep) char *text = NULL;
	const char *resident;

	if (file_read_line(AT_FDCWD, "/proc/self/statm", &text) < 0)
		return 0;
	resident = strchr(text, ' ');
	return resident ? strtoull(resident, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static uint64_t count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	uint64_t n = 0;

	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	(void)closedir(dir);
	return n - 1; /* without the one for reading the directory */
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

void process_use_begin(void)
{
	start_s = (double)clock_real_us() / USEC_PER_SEC;
}

void process_use_read(struct process_use *ret)
{
	struct rusage use = { .ru_maxrss = 0 };
	struct rlimit limit = { .rlim_cur = 0 };

	(void)getrusage(RUSAGE_SELF, &use);
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	*ret = (struct process_use){
		.start_s = start_s,
		.cpu_s = seconds(use.ru_utime) + seconds(use.ru_stime),
		.bytes = resident_bytes(),
		.fds = count_fds(),
		.fds_max = limit.rlim_cur,
	};
}
