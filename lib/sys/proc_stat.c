/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/proc_stat.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

enum { NAME = 2, DECIMAL = 10 };

const char *proc_stat_field(const char *text, int field)
{
	const char *at = strrchr(text, ')'); /* the name may contain anything */
	int i;

	for (i = NAME; at && i < field; i++)
		at = strchr(at + 1, ' ');
	return at ? at + 1 : NULL;
}

int proc_stat_start(int proc_fd, uint64_t *ret_ticks)
{
	CLEANUP(freep) char *text = NULL;
	const char *start;
	int r = file_read_line(proc_fd, "stat", &text);

	if (r < 0)
		return r;
	start = proc_stat_field(text, PROC_STAT_START);
	if (!start)
		return -EINVAL;
	*ret_ticks = strtoull(start, NULL, DECIMAL);
	return 0;
}
