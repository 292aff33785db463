/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runs that timers of systemd start elsewhere (systemd/assay-*.timer), where there
 * is no systemd: in a container. `assay run --profile passive|quick|full --report`, each
 * in its period (agents/assayd/schedule_time.h). Reports arrive through the spool.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct schedule;
struct sd_event;

enum schedule_turn { SCHEDULE_PASSIVE, SCHEDULE_QUICK, SCHEDULE_FULL, SCHEDULE_TURNS };

struct schedule *schedule_new(struct sd_event *event);

/* Runs under way are told to end. */
void schedule_free(struct schedule *s);

/*
 * From now on in these periods (0: not at all) at the moments of `node`. What was set
 * already goes on undisturbed; a run of what is no longer wanted is told to end.
 */
void schedule_set(struct schedule *s, const char *node,
		  const uint64_t periods_us[static SCHEDULE_TURNS]);
