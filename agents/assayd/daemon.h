/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What assayd does: watch the spool and the configuration directory, keep the
 * two conversations with the controller (agents/assayd/uplink, agents/assayd/orders_link),
 * do what is ordered, run what is scheduled (agents/assayd/schedule), and tell what is seen
 * between runs (agents/assayd/watch). While $CONF/disabled exists there is none of it.
 */
#pragma once

#include "lib/base/macro.h"

struct assayd_config;
struct daemon;
struct err;
struct sd_event;

/* `config` is taken (left empty); `config_path` (may be NULL) is read again by a reload. */
struct daemon *daemon_new(struct sd_event *event, const char *config_path,
			  struct assayd_config *config);
void daemon_free(struct daemon *daemon);

/* Begin. Negative when the state directory cannot be used. */
int daemon_start(struct daemon *daemon, struct err *err);

/* Read the configuration again; a bad one is told and the old one stays. */
void daemon_reload(struct daemon *daemon);
