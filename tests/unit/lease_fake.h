/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An in-memory API server of Leases; implements kube_send() and the rest of kube.h.
 * Requests wait until the test serves them, and the test decides how they fail.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct kube;

enum { LEASE_FAKE_LEASES = 4, LEASE_FAKE_WAITING = 16 };

/* What happens to a request. */
enum lease_fake_fate {
	FATE_WELL,
	FATE_LOST,	  /* never arrives */
	FATE_ANSWER_LOST, /* executed, but the response is lost */
	FATE_LATE,	  /* the response is lost; executed by lease_fake_late() */
	FATE_BUSY,	  /* 429 with a text body */
	FATE_BROKEN,	  /* 500 after it was executed */
	FATE_FORBIDDEN,	  /* 403 */
};

/* Returns the number of pending requests. */
size_t lease_fake_waiting(void);

/* The oldest pending request, "PUT /apis/...", or "". Borrowed. */
const char *lease_fake_next(void);
const json_t *lease_fake_next_body(void);

/* Serves the oldest request. Returns false if none is pending. */
bool lease_fake_serve(int fate);

/* Executes the requests of FATE_LATE. */
void lease_fake_late(void);

/* The Lease on the server, or NULL. Borrowed. */
json_t *lease_fake_lease(const char *name);

/* Another client creates or replaces it; NULL deletes it. Takes the reference. */
void lease_fake_put(const char *name, json_t *object);

/* An annotation of it, or NULL. Another client sets it, or removes it with NULL. */
const char *lease_fake_annotation(const char *name, const char *key);
void lease_fake_annotate(const char *name, const char *key, const char *value);

struct kube *lease_fake(void);

/* Drops all Leases and requests. */
void lease_fake_reset(void);
