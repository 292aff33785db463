/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each cell of this host has reached before, kept from run to run. Capacities
 * are a guess where nobody says them: a cell that never reached what its path
 * should carry is held against what it did reach, or every quick run would
 * measure the whole mesh for the same known answer.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct loopback_options;
struct probe;

/* Cells measured with the same options; empty without. New reference. */
json_t *known_load(const struct probe *probe, const struct loopback_options *options);

/* Bytes per second; NAN when it was never measured. */
double known_rate(const json_t *known, const char *subject);

/* Half of the way up to a rate that is higher than what is known; a lower one changes nothing. */
void known_note(json_t *known, const char *subject, double rate);

/* Best effort: says in the log why it could not be kept. */
void known_save(const struct probe *probe, const struct loopback_options *options, json_t *known);
