/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of controller/store/store.h that judging needs, in memory: the simulator
 * links this file in place of the one on SQLite. Hosts are "node-NUMBER".
 *
 * Texts of reports are borrowed: they must live as long as the store.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct store;
struct store_incident;
struct store_window;
struct verdict;
struct verdict_item;

/* Told as it happens. */
struct memory_events {
	void (*window)(void *context, size_t node, const struct store_window *row);
	void (*window_gone)(void *context, size_t node, const char *check, const char *subject);
	/* `fleet`: it stands under the name of a SKU. */
	void (*incident)(void *context, const struct store_incident *incident, bool fleet);
	void (*incident_over)(void *context, const char *name, const char *check, bool fleet);
	/* A report was judged, by itself. */
	void (*run)(void *context, size_t node, bool active, const struct verdict *verdict);
	void *context;
};

struct store *memory_store_new(size_t nodes, const struct memory_events *events);
void memory_store_free(struct store *s);

/* Rows that the host has: something was bad not long ago. */
size_t memory_store_rows(const struct store *s, size_t node);

/* The newest active run of a host, by itself, and when it was; NULL: there is none. Borrowed. */
const struct verdict *memory_store_active(const struct store *s, size_t node, uint64_t *ret_at_us);

/* What a test exonerated is forgotten here as well. */
void memory_store_forget(struct store *s, size_t node, const char *check, const char *subject);
