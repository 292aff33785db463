/* SPDX-License-Identifier: Apache-2.0 */
/* An API server of one Lease, as its contenders see it. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

#define LEASE_NAME "assay-controller"
/* 2026-11-22T00:00:00.000007Z */
#define LEASE_REAL_US (UINT64_C(1795305600) * 1000000 + 7)

struct lease_server {
	json_t *object; /* NULL: no Lease */
	uint64_t version;
};

/* Replaces the Lease. Takes the reference. */
void lease_server_keep(struct lease_server *server, json_t *object);

/* Executes one request. Returns an enum lease_result. */
int lease_server_ask(struct lease_server *server, int step, const json_t *body);
void lease_server_release(struct lease_server *server);
