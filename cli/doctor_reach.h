/* SPDX-License-Identifier: Apache-2.0 */
/* The controller as anybody meets it: is it there, is its certificate good, who are we to it? */
#pragma once

#include <jansson.h>

struct doctor_visit;

/* Waits for 20 s at most. */
void doctor_reach(struct doctor_visit *d);

/* What it answers to a GET with the token: new reference; NULL: it did not, and `item` says so. */
json_t *doctor_reach_get(struct doctor_visit *d, const char *item, const char *path);
