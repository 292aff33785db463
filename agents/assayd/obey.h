/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What assayd does with an order: an opinion is kept, `deep` and the tests with other
 * hosts are run (agents/assayd/deep, agents/assayd/collective), each as assayd.yaml allows it.
 */
#pragma once

#include "lib/base/macro.h"

struct assayd_config;
struct obey;
struct order;
struct sd_event;

/* `config` is borrowed for its life and may change in between. */
struct obey *obey_new(struct sd_event *event, const struct assayd_config *config);
void obey_free(struct obey *o);

void obey_order(struct obey *o, const struct order *order);

/* An order that is no good, by the words of order_decode(). Tests with others are answered. */
void obey_refused(struct obey *o, const struct order *order, const char *why);

/* Try again to keep an opinion that could not be written yet. */
void obey_look(struct obey *o);

/* Tell what runs to end. */
void obey_stop(struct obey *o);
