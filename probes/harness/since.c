/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/harness/since.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/host.h"
#include "lib/sys/sysfs.h"
#include "probes/harness/probe.h"

static double read_uptime(void)
{
	CLEANUP(freep) char *line = sys_line("/proc/uptime");
	char *end = NULL;
	double uptime = line ? strtod(line, &end) : NAN;

	return line && end > line && isfinite(uptime) ? uptime : NAN;
}

void since_open(const struct probe *probe, struct since *ret)
{
	CLEANUP(freep) char *boot_id = host_boot_id();
	json_t *counters = json_object();
	const json_t *before;

	*ret = (struct since){ .past = probe_load(probe, true), .next = json_object() };
	(void)json_object_set_new(ret->next, "counters", counters);
	ret->same_boot = streq(json_string_value(json_object_get(ret->past, "boot_id")), boot_id);
	ret->counters.next = counters;
	if (ret->same_boot)
		ret->counters.past = json_object_get(ret->past, "counters");
	ret->uptime_s = read_uptime();
	ret->window_s = ret->uptime_s;
	before = json_object_get(ret->past, "uptime_s");
	if (ret->same_boot && json_is_number(before))
		ret->window_s = ret->uptime_s - json_number_value(before);
	if (isfinite(ret->uptime_s))
		(void)json_object_set_new(ret->next, "uptime_s", json_real(ret->uptime_s));
}

void since_release(struct since *s)
{
	json_decref(s->past);
	json_decref(s->next);
	*s = (struct since){ .past = NULL };
}

void since_keep(const struct probe *probe, struct since *s)
{
	struct err err = ERR_INIT;

	if (probe_save(probe, s->next, &err) < 0)
		log_warning("%s; the next run will report the same errors again", err.msg);
}
