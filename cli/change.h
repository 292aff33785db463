/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What changed from one picture to the next. Ages, stamps and counts of reports
 * go on while nothing happens: they are no change. Pure.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct view;

/* What of a picture stays the same while nothing happens: an object of texts by key. */
json_t *change_steady(const struct view *view, const json_t *document);

/*
 * The keys that are new or differ, as an object; NULL when nothing does and
 * nothing is gone. New reference.
 */
json_t *change_find(const json_t *before, json_t *after);
