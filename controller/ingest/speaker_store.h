/* SPDX-License-Identifier: Apache-2.0 */
/* What speaker.h finds, from and to the store: incidents of host.identity and host.replaced. */
#pragma once

struct arrival;
struct err;
struct host;
struct store;

/* After a start: what the store knows of the host, unless it is known. */
int speaker_learn(struct store *store, struct host *host, struct err *err);

/*
 * Tell an enum speaker, in the open transaction. Two machines are an incident that is
 * open while they speak; it asks for nothing. Another machine is one that is closed at once, an
 * event; what was open of the old one is closed with it.
 */
int speaker_tell(struct store *store, struct host *host, int speaker, const struct arrival *arrival,
		 struct err *err);
