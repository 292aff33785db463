/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a map of the fleet shows of each host, in memory and by column: a row of 64 bytes per host
 * with its name, and a version. The version is incremented whenever a host's row changes, so the
 * changes since a version are the rows with a higher one: there is no list of changes that could
 * overflow. A client at some version has seen all rows up to it.
 *
 * Rows have two sources: stored reports (fleet_view_put()), and other state of the host
 * (fleet_view_tell()), which includes that it has become silent. A new report time is not a change;
 * becoming stale is. Pure.
 *
 * Invariants: rows are sorted by name; no row's version is above that of the view.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/life.h"
#include "lib/policy/names.h"

struct strbuf;

/* Service state of a host: `service` in docs/openapi.yaml. */
enum fleet_service {
	FLEET_SERVICE_IN,
	FLEET_SERVICE_CORDONED,
	FLEET_SERVICE_HELD,
	FLEET_SERVICE_NOT_READY,
	FLEET_SERVICES
};
extern const char *const fleet_service_names[]; /* "in-service", "cordoned", "held", "not-ready" */

/* Life and service of a host that the cluster does not have. */
enum { FLEET_UNKNOWN = -1 };

/* A row. Written only by fleet_view.c. */
struct fleet_view_row {
	char *name; /* owned; node_name_ok() holds */
	uint64_t version;
	uint64_t seen_us;     /* time of measurement of its newest report */
	int32_t domain, sku;  /* index in view.domains, view.skus; NAME_NONE */
	uint16_t incidents;   /* open; saturates */
	int8_t level;	      /* enum verdict_level of its newest reports */
	int8_t life, service; /* enum life_state, fleet_service; FLEET_UNKNOWN */
	uint8_t connection;   /* enum live_state */
	bool stale;	      /* silent for too long */
	bool two;	      /* two machines use its name: neither is judged */
};

struct fleet_view {
	struct fleet_view_row *rows; /* by name */
	size_t n, room;
	uint64_t version; /* of the latest change */
	uint64_t whole;	  /* clients below this must reload everything: a host was removed */
	struct names domains, skus;
	uint64_t domains_version, skus_version; /* of their latest change */
};

void fleet_view_release(struct fleet_view *v);

/* Returns NULL if there is none. */
const struct fleet_view_row *fleet_view_find(const struct fleet_view *v, const char *name);

/* Data from its reports. Borrowed. */
struct fleet_view_report {
	const char *sku; /* or NULL */
	int level;	 /* enum verdict_level, as of its newest report */
	uint64_t seen_us;
	uint64_t incidents;
};

/* Update a host from its reports, adding it if new. Returns true if its row has changed. */
bool fleet_view_put(struct fleet_view *v, const char *name, const struct fleet_view_report *report);

/* Other state of a host. Borrowed. */
struct fleet_view_state {
	int life, service, connection; /* as in the row */
	bool two;
	bool stale;
	const char *domain; /* or NULL */
};

/* Update row `nth`. Returns true if it has changed. */
bool fleet_view_tell(struct fleet_view *v, size_t nth, const struct fleet_view_state *state);

/* Remove a host: clients at older versions must reload everything. */
void fleet_view_forget(struct fleet_view *v, const char *name);

/* Something shared, kept elsewhere, has changed. Returns its version. */
uint64_t fleet_view_count(struct fleet_view *v);

/* The level to show: enum verdict_level; inconclusive if the host is stale or has two machines. */
int fleet_view_level(const struct fleet_view_row *row);

/* Upper bound of the number of rows newer than the version; all, if it is below `whole`. */
size_t fleet_view_changed(const struct fleet_view *v, uint64_t since);

/*
 * Writes the columns of rows newer than the version as JSON: {"names": [...], "verdict": [...],
 * ...}. If `text` reaches its limit, it holds the error.
 */
void fleet_view_columns(const struct fleet_view *v, uint64_t since, struct strbuf *text);

/* {"hosts", "stale", "verdict": {...}, "life": ..., "service": ..., "connection": ...}. New
 * reference. */
json_t *fleet_view_counts(const struct fleet_view *v);

/* Texts by number, "" for unused numbers. New reference. */
json_t *fleet_view_names(const struct names *names);

/* Indexes of rows. */
struct fleet_view_worst {
	size_t rows[32];
	size_t n;
};

/*
 * Rows that are not pass: failing before warning before unknown; within each, hosts in service
 * first, then those out of service, then those that the cluster does not have; then by name.
 */
void fleet_view_worst(const struct fleet_view *v, struct fleet_view_worst *ret);

/* Memory use in bytes, without allocator overhead. */
size_t fleet_view_bytes(const struct fleet_view *v);
