/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/parts_file.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/host_parts.h"
#include "lib/report/report.h"
#include "lib/sys/machine.h"
#include "lib/sys/state.h"

static const char file_name[] = "parts.json";

void parts_file_read(struct host_parts *ret)
{
	CLEANUP(freep) char *machine = machine_read();
	CLEANUP(json_freep) json_t *file = NULL;

	*ret = (struct host_parts){ 0 };
	if (state_load(file_name, &file, NULL) < 0 ||
	    machine_differs(machine, json_string_value(json_object_get(file, "machine"))))
		return;
	host_parts_decode(json_object_get(file, "parts"), ret);
}

int parts_file_learn(struct host_parts *parts, const struct report *report, struct err *err)
{
	CLEANUP(freep) char *machine = NULL;
	CLEANUP(json_freep) json_t *file = NULL;

	if (!host_parts_learn(parts, report))
		return 0;
	machine = machine_read();
	file = json_pack("{s:i, s:s, s:s*, s:o}", "v", 1, "kind", "parts", "machine", machine,
			 "parts", host_parts_encode(parts));
	return state_save(file_name, file, err);
}
