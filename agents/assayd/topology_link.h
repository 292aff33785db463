/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uploads topologies that the controller requests: PUT /v1/topologies/DIGEST, from
 * $STATE/topology. Nothing is remembered: a controller that lost its store, or an upload that
 * failed, asks again with the next answer.
 */
#pragma once

#include "lib/base/macro.h"

struct err;
struct http;
struct topology_link;

enum { TOPOLOGY_LINK_MAX = 8 }; /* requested at a time */

/* `http` is borrowed and must outlive the link; `url` (the controller's) is copied. */
struct topology_link *topology_link_new(struct http *http, const char *url);
void topology_link_free(struct topology_link *link);

/* Upload this one: the controller requested it. */
void topology_link_want(struct topology_link *link, const char *digest);
