/* SPDX-License-Identifier: Apache-2.0 */
/* Burns of a host, ordered by a person. */
#include <errno.h>
#include <stdlib.h>

#include "controller/actions/burns.h"
#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/routes/routes.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

struct body {
	char *reason, *by;
	int dry_run; /* -1: missing */
};

static void body_release(struct body *b)
{
	free(b->reason);
	free(b->by);
}

static const struct jfield fields[] = {
	{ "reason", J_STRING, offsetof(struct body, reason), J_REQUIRED },
	{ "by", J_STRING, offsetof(struct body, by), 0 },
	{ "dry_run", J_TRISTATE, offsetof(struct body, dry_run), 0 },
};

static unsigned status_of(int r)
{
	return r == -ENOENT ? 404 : r == -EBUSY || r == -EALREADY || r == -EDQUOT ? 409 : 503;
}

void routes_post_burn(void *context, struct call *call)
{
	CLEANUP(body_release) struct body body = { .dry_run = -1 };
	CLEANUP(freep) char *who = NULL;
	CLEANUP(freep) char *reason = NULL;
	CLEANUP(freep) char *words = NULL;
	struct service *s = context;
	const char *node = call_segment(call);
	struct err err = ERR_INIT;
	int r;

	if (routes_take_no_order(s, call))
		return;
	r = routes_order_body(call, fields, ARRAY_SIZE(fields), &body, &body.reason, &err);
	if (r < 0) {
		call_refuse(call, status_of_content(r), "%s", err.msg);
		return;
	}
	if (body.dry_run == 1) {
		r = burns_check(s, node, &err);
		words = xasprintf("%s would be burned", node);
	} else {
		r = burns_ask(s, node, &words, &err);
	}
	if (r < 0) {
		call_refuse(call, status_of(r), "%s", err.msg);
		return;
	}
	who = operator_name(call_identity(call), body.by);
	reason = utf8_clean(body.reason);
	log_info("burn asked for node=%s by=%s dry_run=%d reason=%s", node, who, body.dry_run == 1,
		 reason);
	call_reply(call, 200,
		   json_pack("{s:s, s:n, s:s}", "node", node, "action", "sentence", words));
}
