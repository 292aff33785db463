/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines about what clients do, limited by kind. */
#pragma once

#include <stdint.h>

struct api;
struct call;
struct link;
struct sockaddr;

/* api_say.c: a few lines of each kind per minute. */
void api_say_refusal(const struct call *call, unsigned status, const char *detail);
void api_say_cut(const struct link *link, uint64_t now_us);
void api_say_unread(const struct link *link); /* a connection that ends */
void api_say_missed(struct api *api, uint64_t now_us);

/* "ADDR:PORT" in new memory. */
char *api_name_of(const struct sockaddr *address);
