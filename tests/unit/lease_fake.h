/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In the place of kube_send() and the others of kube.h: an API server of Leases in memory.
 * What was sent waits until the test serves it, and the test says how that goes wrong.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct kube;

enum { LEASE_FAKE_LEASES = 4, LEASE_FAKE_WAITING = 16 };

/* What becomes of a request. */
enum lease_fake_fate {
	FATE_WELL,
	FATE_LOST,	  /* never arrives */
	FATE_ANSWER_LOST, /* is done, and nobody is told */
	FATE_LATE,	  /* nobody is told, and it is done with lease_fake_late() */
	FATE_BUSY,	  /* 429, a text */
	FATE_BROKEN,	  /* 500 after it was done */
	FATE_FORBIDDEN,	  /* 403 */
};

/* How many requests wait. */
size_t lease_fake_waiting(void);

/* What the oldest asks for: "PUT /apis/...", or "". Borrowed. */
const char *lease_fake_next(void);
const json_t *lease_fake_next_body(void);

/* Serve the oldest one; false when none waits. */
bool lease_fake_serve(int fate);

/* What was sent late arrives. */
void lease_fake_late(void);

/* A Lease as the server has it: borrowed, or NULL. */
json_t *lease_fake_lease(const char *name);

/* Somebody else changes it (or makes it): takes the reference. NULL removes it. */
void lease_fake_put(const char *name, json_t *object);

/* An annotation of it, or NULL; and somebody sets it, or with NULL takes it off. */
const char *lease_fake_annotation(const char *name, const char *key);
void lease_fake_annotate(const char *name, const char *key, const char *value);

struct kube *lease_fake(void);

/* Forget all. */
void lease_fake_reset(void);
