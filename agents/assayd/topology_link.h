/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topologies that the controller asks for: PUT /v1/topologies/DIGEST from
 * $STATE/topology. Nothing is remembered of what was sent: whoever has lost its
 * store asks again with its next answer, and a failure is mended the same way.
 */
#pragma once

#include "lib/base/macro.h"

struct err;
struct http;
struct topology_link;

enum { TOPOLOGY_LINK_MAX = 8 }; /* wanted at a time */

/* `http` is borrowed and outlives the link; `url` of the controller is copied. */
struct topology_link *topology_link_new(struct http *http, const char *url);
void topology_link_free(struct topology_link *link);

/* The controller wants this one. */
void topology_link_want(struct topology_link *link, const char *digest);
