/* SPDX-License-Identifier: Apache-2.0 */
/* Lines for the operator about what strangers do, bounded by kind. */
#pragma once

#include <stdint.h>

struct api;
struct call;
struct link;
struct sockaddr;

/* Of api_say.c: lines for the operator, a few of each kind a minute. */
void api_say_refusal(const struct call *call, unsigned status, const char *detail);
void api_say_cut(const struct link *link, uint64_t now_us);
void api_say_unread(const struct link *link); /* a connection that ends */
void api_say_missed(struct api *api, uint64_t now_us);

/* "ADDR:PORT" in new memory. */
char *api_name_of(const struct sockaddr *address);
