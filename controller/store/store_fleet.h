/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts as a map of the fleet shows them, and which rows have changed since they were last looked
 * at, so that who shows them need not read all of them again. Nothing is gathered until somebody
 * wants it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct store;

/* A host; borrowed until the callback returns. */
struct store_fleet_host {
	const char *node, *sku; /* sku: NULL: not known */
	int level;		/* enum verdict_level, when it was last heard of */
	uint64_t seen_us;
	uint64_t incidents; /* open ones of the host itself */
};

typedef void store_fleet_host_fn(void *context, const struct store_fleet_host *host);

/* Hosts by name, after `after` ("": from the first), at most `limit`. */
int store_fleet_hosts(struct store *s, const char *after, size_t limit, store_fleet_host_fn *host,
		      void *context, struct err *err);

/* What may have changed, by the table that it is in. */
enum store_fleet_kind {
	STORE_FLEET_HOSTS,
	STORE_FLEET_INCIDENTS,
	STORE_FLEET_ACTIONS,
	STORE_FLEET_CAMPAIGNS,
	STORE_FLEET_JOBS,
	STORE_FLEET_INVESTIGATIONS,
	STORE_FLEET_KINDS
};

/* Numbers of one kind that are remembered until they are taken. */
enum { STORE_FLEET_CHANGES_MAX = 4096 };

struct store_fleet_changes {
	int64_t *numbers; /* owned; may be there twice */
	size_t n, room;
	bool lost; /* there were more than STORE_FLEET_CHANGES_MAX */
};

/* Gather what changes from now on, or do not. */
void store_fleet_watch(struct store *s, bool wanted);

/*
 * What has changed of that kind since this was last asked, committed or not, or taken back. To be
 * released.
 */
struct store_fleet_changes store_fleet_take(struct store *s, enum store_fleet_kind kind);
void store_fleet_changes_release(struct store_fleet_changes *changes);

/* The host of that number of its row, when it is there; or the one that the incident is of. */
int store_fleet_host(struct store *s, enum store_fleet_kind kind, int64_t number,
		     store_fleet_host_fn *host, void *context, struct err *err);

/* Its sentence, new memory; NULL: it has none, or is not there. */
int store_fleet_sentence(struct store *s, const char *node, char **ret_sentence, struct err *err);
