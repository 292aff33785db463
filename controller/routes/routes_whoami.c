/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's identity, and that of the controller: for assayctl doctor. */
#include "controller/auth/tokens.h"
#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/routes/routes.h"
#include "lib/json/json.h"

void routes_whoami(void *context, struct call *call)
{
	const struct service *s = context;
	const struct identity *who = call_identity(call);

	call_reply(call, 200,
		   json_pack("{s:s, s:s?, s:b, s:s, s:s}", "role", tokens_role_name(who->role),
			     "name", who->name, "open", s->tokens.open, "version", PACKAGE_VERSION,
			     "cluster", cluster_names[s->settings->cluster]));
}
