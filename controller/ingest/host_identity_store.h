/* SPDX-License-Identifier: Apache-2.0 */
/* What host_identity.h finds, from and to the store: incidents of host.identity and host.replaced. */
#pragma once

struct report_clock;
struct err;
struct host;
struct store;

/* After a start: what the store knows of the host, unless it is known. */
int host_identity_learn(struct store *store, struct host *host, struct err *err);

/*
 * Tell an enum host_identity, in the open transaction. Two machines are an incident that is
 * open while they speak; it asks for nothing. Another machine is one that is closed at once, an
 * event; what was open of the old one is closed with it.
 */
int host_identity_tell(struct store *store, struct host *host, int identity,
		       const struct report_clock *arrival, struct err *err);
