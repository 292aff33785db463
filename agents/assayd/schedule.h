/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts periodic runs where there is no systemd, i.e. in a container, instead of the timers
 * (systemd/assay-*.timer): `assay run --profile passive|quick|full --report`, each at its own
 * period (agents/assayd/schedule_time.h). Reports arrive through the spool.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct schedule;
struct sd_event;

enum schedule_turn { SCHEDULE_PASSIVE, SCHEDULE_QUICK, SCHEDULE_FULL, SCHEDULE_TURNS };

struct schedule *schedule_new(struct sd_event *event);

/* Terminates running runs. */
void schedule_free(struct schedule *s);

/*
 * Set the periods (0: off), at the time slots of `node`. Unchanged ones continue undisturbed; the
 * run of a profile that is switched off is terminated.
 */
void schedule_set(struct schedule *s, const char *node,
		  const uint64_t periods_us[static SCHEDULE_TURNS]);
