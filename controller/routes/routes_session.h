/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of browsers (controller/auth/page_session.h): opened with a token, known by their
 * cookie, listed and ended. `context` is the struct service.
 */
#pragma once

#include "controller/http/api.h"

/*
 * Who sent a call without a token, by its cookie: of struct api_options. A cookie goes along
 * whoever's page makes the browser ask, so a call by cookie has to come from ours; and what changes
 * something has to say "Assay-Request: 1", which no form of another page can.
 */
enum api_known routes_session_identify(void *context, struct call *call, struct identity *ret);

void routes_session_post(void *context, struct call *call);
void routes_session_delete(void *context, struct call *call);
void routes_session_self(void *context, struct call *call);
void routes_session_list(void *context, struct call *call);
void routes_session_end(void *context, struct call *call);
