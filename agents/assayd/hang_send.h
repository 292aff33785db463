/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends documents about hung jobs to the controller: PUT /v1/nodes/NODE/hang, one at a time. A
 * document is dropped if another is being sent, since the next look makes a newer one. The 404 of
 * an older controller is logged once and stops requests for HANG_SEND_OLD_US.
 */
#pragma once

#include <stddef.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct hang_send;
struct http;

#define HANG_SEND_OLD_US USEC_PER_HOUR

enum { HANG_SEND_MAX = 1024 * 1024 }; /* bytes of a document */

/* `http` is borrowed and must outlive it; `url` (the controller's) and `node` are copied. */
struct hang_send *hang_send_new(struct http *http, const char *url, const char *node);
void hang_send_free(struct hang_send *s);

/* Send `text`, at most HANG_SEND_MAX bytes, which is copied. `job` is for the log. */
void hang_send_document(struct hang_send *s, const char *job, const char *text);
