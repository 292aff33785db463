/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon: watches the spool and the configuration directory, keeps both connections to the
 * controller (agents/assayd/uplink, agents/assayd/orders_link), carries out orders, runs the
 * schedule (agents/assayd/schedule) and reports what it sees between runs (agents/assayd/watch).
 * Idle while $CONF/disabled exists.
 */
#pragma once

#include "lib/base/macro.h"

struct assayd_config;
struct daemon;
struct err;
struct sd_event;

/* `config` is moved (left empty); `config_path` (may be NULL) is read again on reload. */
struct daemon *daemon_new(struct sd_event *event, const char *config_path,
			  struct assayd_config *config);
void daemon_free(struct daemon *daemon);

/* Start. Fails if the state directory cannot be used. */
int daemon_start(struct daemon *daemon, struct err *err);

/* Read the configuration again; if it is bad, log that and keep the old one. */
void daemon_reload(struct daemon *daemon);
