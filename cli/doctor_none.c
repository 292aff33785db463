/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces doctor_reach.c in builds without libcurl or libsystemd. */
#include "cli/doctor_reach.h"

#include "cli/doctor_visit.h"
#include "lib/base/macro.h"

json_t *doctor_reach_get(struct doctor_visit *d UNUSED, const char *item UNUSED,
			 const char *path UNUSED)
{
	return NULL;
}

void doctor_reach(struct doctor_visit *d)
{
	checklist_say(&d->list, CHECK_BAD, "reach",
		      "this assayctl was built without libcurl or libsystemd: install one that was "
		      "built with them");
}
