/* SPDX-License-Identifier: Apache-2.0 */
/* Stores results of host_identity.h, and restores them: incidents of host.identity and
 * host.replaced. */
#pragma once

struct report_clock;
struct err;
struct host;
struct store;

/* After a start: restore what the store knows about the host, unless it is known already. */
int host_identity_learn(struct store *store, struct host *host, struct err *err);

/*
 * Report an enum host_identity in the open transaction. Two machines are an incident that stays
 * open while both are seen, without action. A replacement is an incident that is closed at once, as
 * an event; open incidents of the old machine are closed with it.
 */
int host_identity_tell(struct store *store, struct host *host, int identity,
		       const struct report_clock *arrival, struct err *err);
