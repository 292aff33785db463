/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the connection: is the controller up, is its certificate valid, who are we to it? */
#pragma once

#include <jansson.h>

struct doctor_visit;

/* Takes at most 20 s. */
void doctor_reach(struct doctor_visit *d);

/* GET `path` with the token: new reference; NULL on failure, reported under `item`. */
json_t *doctor_reach_get(struct doctor_visit *d, const char *item, const char *path);
