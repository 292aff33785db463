/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects changes between two pictures. Ages, timestamps and report counts advance by themselves
 * and do not count as changes. Pure.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct view;

/* The parts of a picture that are constant while nothing happens: an object of strings by key. */
json_t *change_steady(const struct view *view, const json_t *document);

/*
 * The keys that are new or differ, as an object; NULL if nothing differs or is gone. New
 * reference.
 */
json_t *change_find(const json_t *before, json_t *after);
