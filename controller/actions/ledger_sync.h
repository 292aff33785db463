/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends the ledger to the cluster and reads it: carries out what reservation.h asks for, after
 * reconciling it with the nodes and the actions in progress. Each answer becomes an event, which
 * the actor handles as reservation.h says.
 */
#pragma once

#include "lib/base/macro.h"

struct actor_env;
struct reservation_news;

/* First read (ACTOR_LEDGER_READ): whoever takes over last owns the ledger. */
void ledger_sync_take_over(const struct actor_env *env);

/* Somebody else wrote it: read it before the next write (ACTOR_LEDGER_REREAD). */
void ledger_sync_reread(const struct actor_env *env);

/* Replace ours with what was read. */
void ledger_sync_adopt(const struct actor_env *env, struct reservation_news *news);

/*
 * Reconcile it with the nodes if that was requested, and write changes as soon as allowed
 * (ACTOR_LEDGER_WRITTEN).
 */
void ledger_sync_flush(const struct actor_env *env);

/* Is the periodic reconciliation with the nodes due? */
bool ledger_sync_is_due(const struct actor_env *env);
