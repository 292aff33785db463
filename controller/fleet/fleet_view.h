/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a map of the fleet shows of each host, in memory and in columns: a row of 64 bytes a host
 * with its name, and a version. A version counts up with each host whose row is another one now, so
 * that what has changed since a version is the rows with a higher one: there is no list of changes
 * to keep, and none to overflow. Whoever sees a version sees all rows up to it.
 *
 * Rows are filled from two sides: by what is kept of a host's reports (fleet_view_put()), and by
 * what is known of it besides (fleet_view_tell()), which also finds that it has become silent. A
 * time that a report came is no change, that it is too long ago is one. Pure.
 *
 * Invariants: rows are sorted by name; a row's version is at most that of the view.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/life.h"
#include "lib/policy/names.h"

struct strbuf;

/* How a host serves: what `service` of docs/openapi.yaml says. */
enum fleet_service {
	FLEET_SERVICE_IN,
	FLEET_SERVICE_CORDONED,
	FLEET_SERVICE_HELD,
	FLEET_SERVICE_NOT_READY,
	FLEET_SERVICES
};
extern const char *const fleet_service_names[]; /* "in-service", "cordoned", "held", "not-ready" */

/* Of a host that the cluster does not have. */
enum { FLEET_UNKNOWN = -1 };

/* A row; read it, only fleet_view.c writes. */
struct fleet_view_row {
	char *name; /* owned; a name of node_name_ok() */
	uint64_t version;
	uint64_t seen_us;     /* when its newest report was measured */
	int32_t domain, sku;  /* of view.domains, view.skus; NAME_NONE */
	uint16_t incidents;   /* open; more are as many as fit */
	int8_t level;	      /* enum verdict_level of its newest reports */
	int8_t life, service; /* enum life_state, fleet_service; FLEET_UNKNOWN */
	uint8_t connection;   /* enum live_state */
	bool stale;	      /* no answer */
	bool two;	      /* two machines speak under its name: neither is judged */
};

struct fleet_view {
	struct fleet_view_row *rows; /* by name */
	size_t n, room;
	uint64_t version; /* of the newest change */
	uint64_t whole;	  /* who saw an older one has to see all: a host was forgotten */
	struct names domains, skus;
	uint64_t domains_version, skus_version; /* of their newest change */
};

void fleet_view_release(struct fleet_view *v);

/* NULL: there is none. */
const struct fleet_view_row *fleet_view_find(const struct fleet_view *v, const char *name);

/* What is kept of its reports. Borrowed. */
struct fleet_view_report {
	const char *sku; /* or NULL */
	int level;	 /* enum verdict_level, as of its newest report */
	uint64_t seen_us;
	uint64_t incidents;
};

/* The host's reports say this now; it is made when it is new. True: its row has changed. */
bool fleet_view_put(struct fleet_view *v, const char *name, const struct fleet_view_report *report);

/* What is known of it besides. Borrowed. */
struct fleet_view_state {
	int life, service, connection; /* as in the row */
	bool two;
	bool stale;
	const char *domain; /* or NULL */
};

/* The nth row is so. True: it has changed. */
bool fleet_view_tell(struct fleet_view *v, size_t nth, const struct fleet_view_state *state);

/* It is not there any more: who saw an older version has to see all. */
void fleet_view_forget(struct fleet_view *v, const char *name);

/* Something that belongs to all has changed, which somebody else keeps. Returns its version. */
uint64_t fleet_view_count(struct fleet_view *v);

/* What is to be said of it: enum verdict_level; inconclusive when it is silent, or is two. */
int fleet_view_level(const struct fleet_view_row *row);

/* Rows that are newer than the version, at most; with a version below `whole`, all. */
size_t fleet_view_changed(const struct fleet_view *v, uint64_t since);

/*
 * The columns of rows that are newer than the version, as JSON: {"names": [...], "verdict": [...],
 * ...}. Past the limit of `text` it holds the error.
 */
void fleet_view_columns(const struct fleet_view *v, uint64_t since, struct strbuf *text);

/* {"hosts", "stale", "verdict": {...}, "life": ..., "service": ..., "connection": ...}; new
 * reference. */
json_t *fleet_view_counts(const struct fleet_view *v);

/* Texts by number, "" for a number that nobody has. New reference. */
json_t *fleet_view_names(const struct names *names);

/* Numbers of rows. */
struct fleet_view_worst {
	size_t rows[32];
	size_t n;
};

/*
 * Those that are not pass: failing before warning before unknown, of each those in service first,
 * then those that are out of it, then those that the cluster does not have; then by name.
 */
void fleet_view_worst(const struct fleet_view *v, struct fleet_view_worst *ret);

/* Bytes that it takes, but for what the allocator adds. */
size_t fleet_view_bytes(const struct fleet_view *v);
