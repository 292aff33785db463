/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger's way to the cluster and back: what reservation.h says is to be read or written is
 * sent here, and each answer is handed in. What it means for the actor is returned.
 */
#pragma once

#include "lib/base/macro.h"

struct actor_env;
struct actor_event;

enum ledger_news {
	LEDGER_NOTHING,
	LEDGER_STANDS,	   /* it was written: places stand by now */
	LEDGER_NOT_YET,	   /* it could not be taken over: ask again */
	LEDGER_UNREADABLE, /* nobody may act on it; the log says why */
	LEDGER_TAKEN,	   /* another controller has taken over; the log says so */
};

/* Read it for the first time: whoever takes it over last has it. */
void ledger_sync_take_over(const struct actor_env *env);

/* Compare it with the nodes, where that was asked for, and write what was changed, as soon as may be. */
void ledger_sync_flush(const struct actor_env *env);

/* Is it time to compare it with the nodes again, whatever happens? */
bool ledger_sync_is_due(const struct actor_env *env);

/* The answers of ACTOR_LEDGER_READ, _REREAD and _WRITTEN. */
enum ledger_news ledger_sync_read(const struct actor_env *env, const struct actor_event *event);
enum ledger_news ledger_sync_reread(const struct actor_env *env, const struct actor_event *event);
enum ledger_news ledger_sync_written(const struct actor_env *env, const struct actor_event *event);
