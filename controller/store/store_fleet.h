/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts as shown on a map of the fleet, and which rows have changed since they were last read, so
 * that not all have to be read again. Changes are collected only while wanted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct store;

/* A host; borrowed until the callback returns. */
struct store_fleet_host {
	const char *node, *sku; /* sku NULL: unknown */
	int level;		/* enum verdict_level as of its last report */
	uint64_t seen_us;
	uint64_t incidents; /* open ones of the host itself */
};

typedef void store_fleet_host_fn(void *context, const struct store_fleet_host *host);

/* At most `limit` hosts by name, after `after` ("": from the first). */
int store_fleet_hosts(struct store *s, const char *after, size_t limit, store_fleet_host_fn *host,
		      void *context, struct err *err);

/* Kinds of changes, by table. */
enum store_fleet_kind {
	STORE_FLEET_HOSTS,
	STORE_FLEET_INCIDENTS,
	STORE_FLEET_ACTIONS,
	STORE_FLEET_CAMPAIGNS,
	STORE_FLEET_JOBS,
	STORE_FLEET_INVESTIGATIONS,
	STORE_FLEET_KINDS
};

/* Numbers of one kind collected until they are taken. */
enum { STORE_FLEET_CHANGES_MAX = 4096 };

struct store_fleet_changes {
	int64_t *numbers; /* owned; may contain duplicates */
	size_t n, room;
	bool lost; /* there were more than STORE_FLEET_CHANGES_MAX */
};

/* Start or stop collecting changes. */
void store_fleet_watch(struct store *s, bool wanted);

/*
 * Changes of that kind since the last call, whether committed, uncommitted or rolled back. The
 * caller releases them.
 */
struct store_fleet_changes store_fleet_take(struct store *s, enum store_fleet_kind kind);
void store_fleet_changes_release(struct store_fleet_changes *changes);

/* Look up the host with that rowid, or that an incident with that rowid is about, if it exists. */
int store_fleet_host(struct store *s, enum store_fleet_kind kind, int64_t number,
		     store_fleet_host_fn *host, void *context, struct err *err);

/* Its sentence, new memory; NULL: none, or no such host. */
int store_fleet_sentence(struct store *s, const char *node, char **ret_sentence, struct err *err);
