/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries out orders: stores opinions, runs `deep` and tests with other hosts
 * (agents/assayd/deep, agents/assayd/collective) as far as assayd.yaml allows them, and passes
 * `look` on to agents/assayd/hang_watch.
 */
#pragma once

#include "lib/base/macro.h"

struct assayd_config;
struct hang_watch;
struct order_executor;
struct order;
struct sd_event;

/* `config` and `hangs` are borrowed for its lifetime; `config` may change meanwhile. */
struct order_executor *order_executor_new(struct sd_event *event, const struct assayd_config *config,
					  struct hang_watch *hangs);
void order_executor_free(struct order_executor *o);

void order_executor_order(struct order_executor *o, const struct order *order);

/*
 * Reject an invalid order for the reason given by order_decode(). Tests with other hosts get an
 * answer.
 */
void order_executor_refused(struct order_executor *o, const struct order *order, const char *why);

/* Try again to store an opinion that could not be written. */
void order_executor_look(struct order_executor *o);

/* Terminate whatever is running. */
void order_executor_stop(struct order_executor *o);
