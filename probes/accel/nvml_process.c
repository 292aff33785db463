/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/nvml_process.h"

#include <stdlib.h>

bool nvml_process_is_wide(const char *driver)
{
	enum { BRANCH = 535, FIRST = 43, LAST = 86 };
	char *end = NULL;
	unsigned long branch = strtoul(driver, &end, 10), release;

	if (end == driver || *end != '.' || branch != BRANCH)
		return false;
	release = strtoul(end + 1, NULL, 10);
	return release >= FIRST && release <= LAST;
}

unsigned nvml_process_pid(const void *list, bool wide, unsigned i)
{
	const struct nvml_wide_process *of_wide = list;
	const struct nvml_process *usual = list;

	return wide ? of_wide[i].process.pid : usual[i].pid;
}
