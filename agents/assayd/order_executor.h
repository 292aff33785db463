/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What assayd does with an order: an opinion is kept, `deep` and the tests with other
 * hosts are run (agents/assayd/deep, agents/assayd/collective), each as assayd.yaml allows it,
 * and `look` is passed on to who looks at jobs that stand still (agents/assayd/hang_watch).
 */
#pragma once

#include "lib/base/macro.h"

struct assayd_config;
struct hang_watch;
struct order_executor;
struct order;
struct sd_event;

/* `config` and `hangs` are borrowed for its life; `config` may change in between. */
struct order_executor *order_executor_new(struct sd_event *event, const struct assayd_config *config,
					  struct hang_watch *hangs);
void order_executor_free(struct order_executor *o);

void order_executor_order(struct order_executor *o, const struct order *order);

/* An order that is no good, by the words of order_decode(). Tests with others are answered. */
void order_executor_refused(struct order_executor *o, const struct order *order, const char *why);

/* Try again to keep an opinion that could not be written yet. */
void order_executor_look(struct order_executor *o);

/* Tell what runs to end. */
void order_executor_stop(struct order_executor *o);
