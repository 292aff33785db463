/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for doctor_reach.c in a build without libcurl or libsystemd. */
#include "cli/doctor.h"

json_t *doctor_get(struct doctor *d UNUSED, const char *item UNUSED, const char *path UNUSED)
{
	return NULL;
}

void doctor_reach(struct doctor *d)
{
	checklist_say(&d->list, CHECK_BAD, "reach",
		      "this assayctl was built without libcurl or libsystemd: install one that was "
		      "built with them");
}
