/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of browsers (controller/auth/page_session.h): opened with a token, identified by a
 * cookie, listed and ended. `context` is the struct service.
 */
#pragma once

#include "controller/http/api.h"

/*
 * Identifies the sender of a call without token by its cookie: for struct api_options. As browsers
 * send cookies whichever page makes them, such a call has to come from our page, and one that
 * changes something must have "Assay-Request: 1", which no form of another page can send.
 */
enum api_known routes_session_identify(void *context, struct call *call, struct identity *ret);

void routes_session_post(void *context, struct call *call);
void routes_session_delete(void *context, struct call *call);
void routes_session_self(void *context, struct call *call);
void routes_session_list(void *context, struct call *call);
void routes_session_end(void *context, struct call *call);
