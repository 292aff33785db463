/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger's way to the cluster: what reservation.h says is to be read or written is sent from
 * here, after it was brought in line with the nodes and what is under way. Each answer is an event,
 * and the actor goes by what reservation.h says of it.
 */
#pragma once

#include "lib/base/macro.h"

struct actor_env;
struct reservation_news;

/* Read it for the first time (ACTOR_LEDGER_READ): whoever takes it over last has it. */
void ledger_sync_take_over(const struct actor_env *env);

/* Somebody else has written it: read it before it is written again (ACTOR_LEDGER_REREAD). */
void ledger_sync_reread(const struct actor_env *env);

/* What was read counts from now on, as ours. */
void ledger_sync_adopt(const struct actor_env *env, struct reservation_news *news);

/*
 * Compare it with the nodes, where that was asked for, and write what was changed, as soon as may
 * be (ACTOR_LEDGER_WRITTEN).
 */
void ledger_sync_flush(const struct actor_env *env);

/* Is it time to compare it with the nodes again, whatever happens? */
bool ledger_sync_is_due(const struct actor_env *env);
