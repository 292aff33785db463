/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcurl's multi interface on an sd-event loop; only for lib/net/http*.c. libcurl says which
 * sockets and timeout it waits for (curl_multi_socket_action(3)); they become event sources here.
 */
#pragma once

#include "lib/base/macro.h"

struct err;
struct sd_event;
struct sd_event_source;

struct http_loop {
	struct sd_event *event;		 /* referenced */
	struct sd_event_source *timer;	 /* owned */
	void *multi;			 /* CURLM, owned */
	void (*progress)(void *context); /* something may be complete */
	void *context;
	unsigned kept; /* idle connections */
};

/* `loop` must not move afterwards. */
int http_loop_init(struct http_loop *loop, struct sd_event *event, struct err *err);

/* All transfers must have been removed. */
void http_loop_release(struct http_loop *loop);
