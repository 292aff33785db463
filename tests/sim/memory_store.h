/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An in-memory implementation of the part of controller/store/store.h that judging needs.
 * The simulator links it instead of the one on SQLite. Hosts are named "node-NUMBER".
 *
 * Strings of reports are borrowed: they must outlive the store.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct store;
struct store_incident;
struct store_window;
struct verdict;
struct verdict_item;

/* Callbacks. */
struct memory_events {
	void (*window)(void *context, size_t node, const struct store_window *row);
	void (*window_gone)(void *context, size_t node, const char *check, const char *subject);
	/* `fleet`: its node is the name of a SKU. */
	void (*incident)(void *context, const struct store_incident *incident, bool fleet);
	void (*incident_over)(void *context, const char *name, const char *check, bool fleet);
	/* A report was judged on its own. */
	void (*run)(void *context, size_t node, bool active, const struct verdict *verdict);
	void *context;
};

struct store *memory_store_new(size_t nodes, const struct memory_events *events);
void memory_store_free(struct store *s);

/* Returns the number of window rows of the host: recent bad results. */
size_t memory_store_rows(const struct store *s, size_t node);

/* Returns the verdict of a host's latest active run and its time; NULL: none. Borrowed. */
const struct verdict *memory_store_active(const struct store *s, size_t node, uint64_t *ret_at_us);

/* Drops the window of a finding that a test has exonerated. */
void memory_store_forget(struct store *s, size_t node, const char *check, const char *subject);
