/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rates that each cell of this host reached in earlier runs. Expected capacities are partly
 * guesses. A cell that never reached what its path should carry is compared with what it did reach;
 * otherwise every quick run would measure the whole mesh again for the same known result.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct loopback_options;
struct probe;

/*
 * Load the rates measured with the same options; empty if there are none. Returns a new reference.
 */
json_t *known_load(const struct probe *probe, const struct loopback_options *options);

/* Bytes per second; NAN if never measured. */
double known_rate(const json_t *known, const char *subject);

/* Record a rate: a higher one raises the known one half of the way; a lower one changes nothing. */
void known_note(json_t *known, const char *subject, double rate);

/* Best effort: logs a warning if it cannot be saved. */
void known_save(const struct probe *probe, const struct loopback_options *options, json_t *known);
