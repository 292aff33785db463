/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that join by themselves (controller/auth/join.h): handlers in the table of routes. */
#pragma once

struct call;

/* For anybody: the join token is in the body. */
void routes_join_get_ca(void *context, struct call *call);
void routes_join_post(void *context, struct call *call);

/* For admins; the list also for readers. */
void routes_join_post_token(void *context, struct call *call);
void routes_join_list(void *context, struct call *call);
void routes_join_revoke(void *context, struct call *call);
void routes_join_reset(void *context, struct call *call);
