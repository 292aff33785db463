/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/gpu_link.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/sys/sysfs.h"
#include "probes/memory/gpu.h"

static char *line_of(const struct gpu_device *d, const char *name)
{
	return sys_line("/sys/bus/pci/devices/%s/%s", d->info.pci, name);
}

/* "16.0 GT/s PCIe" and "16" begin with their number. */
static bool is_below(const char *now, const char *most)
{
	return now && most && strtod(now, NULL) < strtod(most, NULL);
}

void gpu_link_look(struct gpu_device *d)
{
	CLEANUP(freep) char *speed = line_of(d, "current_link_speed");
	CLEANUP(freep) char *speed_max = line_of(d, "max_link_speed");
	CLEANUP(freep) char *width = line_of(d, "current_link_width");
	CLEANUP(freep) char *width_max = line_of(d, "max_link_width");

	d->link[0] = '\0';
	/* Copies over C2C cross none. */
	if (d->info.c2c || (!is_below(speed, speed_max) && !is_below(width, width_max)))
		return;
	(void)snprintf(
		d->link, sizeof(d->link),
		"its PCIe link ran at %.20s x%.4s during the test, but can run at %.20s x%.4s",
		speed ? speed : "?", width ? width : "?", speed_max ? speed_max : "?",
		width_max ? width_max : "?");
}
