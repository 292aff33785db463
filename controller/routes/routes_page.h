/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web page: its files to anybody, for they say nothing of the fleet; what they ask for then
 * needs a session (routes_session.c). `context` is the struct service.
 */
#pragma once

#include <stdbool.h>

struct call;

/* Is there a page? While there is none its routes are as if they had no row. */
bool routes_page_is_on(const void *context);

/* index.html; where it is, to who asks for the top; and everything else, by version and name. */
void routes_page_index(void *context, struct call *call);
void routes_page_top(void *context, struct call *call);
void routes_page_file(void *context, struct call *call);
