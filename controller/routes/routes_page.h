/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web page: its files are public, as they contain nothing about the fleet; their requests need
 * a session (routes_session.c). `context` is the struct service.
 */
#pragma once

#include <stdbool.h>

struct call;

/* Is there a page? Without one its routes do not exist. */
bool routes_page_is_on(const void *context);

/* index.html; a redirect to it from the top; and all other files, by version and name. */
void routes_page_index(void *context, struct call *call);
void routes_page_top(void *context, struct call *call);
void routes_page_file(void *context, struct call *call);
