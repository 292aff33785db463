/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks come late: `lateness` in the result of `assay-attribute --summary` (docs/formats.md).
 * Pure. */
#pragma once

#include <jansson.h>

struct err;
struct jval;

enum { SUMMARY_LATE_LINKS_MAX = 8, SUMMARY_LATE_STALLS_MAX = 16, SUMMARY_LATE_WHY_MAX = 200 };

/* Check it and drop unknown members, into a json_t * that is owned. As jfield.decode. */
int summary_late_decode(const struct jval *v, void *member, struct err *err);

/* All places in it: the slowest, both ends of links, the stalls. Borrowed. */
enum { SUMMARY_LATE_PLACES_MAX = 1 + 2 * SUMMARY_LATE_LINKS_MAX + SUMMARY_LATE_STALLS_MAX };
size_t summary_late_places(const json_t *lateness, json_t *ret[static SUMMARY_LATE_PLACES_MAX]);

/* Update its sentence after hosts of places have changed. */
void summary_late_say(json_t *lateness);
