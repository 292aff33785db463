/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/doctor/doctor_ask.h"

#include <errno.h>
#include <stdlib.h>

#include "agents/doctor/doctor.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/net/checklist_clock.h"
#include "lib/net/http.h"
#include "lib/net/http_once.h"

enum { ANSWER_MAX = 64 * 1024 };

#define ASK_US (10 * USEC_PER_SEC)

static int ask(const struct assayd_config *c, struct http_once *q, struct err *err)
{
	const struct http_options options = {
		.ca_file = c->ca,
		.cert_file = c->cert,
		.key_file = c->key,
		.token_file = c->token_file,
		.user_agent = "assay-doctor/" PACKAGE_VERSION,
	};
	CLEANUP(freep)
	char *url = xasprintf("%s/v1/nodes/%s/orders?wait=none", c->controller, c->node);
	const struct http_call call = {
		.method = "GET",
		.url = url,
		.want = "Date",
		.timeout_us = ASK_US,
		.answer_max = ANSWER_MAX,
	};

	return http_once(&options, &call, q, err);
}

static void say_answer(struct doctor *d, const struct http_once *answer)
{
	const struct assayd_config *c = &d->config;
	CLEANUP(freep) char *said = http_once_detail(answer);
	const char *detail = said ? said : "it does not say why";

	switch (answer->status) {
	case 200:
	case 204:
	case 400: /* a controller older than `wait=none`: it has authorized this host */
		checklist_say(&d->list, CHECK_OK, "controller", "%s accepts reports from %s",
			      c->controller, c->node);
		break;
	case 401:
		checklist_say(
			&d->list, CHECK_BAD, "controller",
			"%s does not know this host's token: join again (assayctl token reset "
			"%s, then assayctl join-command), or add it to tokens.yaml",
			c->controller, c->node);
		break;
	case 403:
		checklist_say(
			&d->list, CHECK_BAD, "controller",
			"%s does not accept reports from %s with this token (%s): set node in "
			"assayd.yaml to the name that the token is for",
			c->controller, c->node, detail);
		break;
	default:
		checklist_say(&d->list, CHECK_WARN, "controller", "%s answers %u: %s",
			      c->controller, answer->status, detail);
	}
}

/* What to do about a failed request. */
static const char *cure_of(int r)
{
	switch (-r) {
	case ECONNREFUSED:
		return "start assay-controller there, or fix the port in assayd.yaml";
	case EHOSTUNREACH:
		return "fix the name in assayd.yaml, or DNS";
	case EKEYREJECTED:
		return "set ca in assayd.yaml to the authority that signed its certificate, or "
		       "renew that (assayctl setup certificate)";
	case ETIMEDOUT:
		return "check for a firewall, and whether that host is up";
	default:
		return "see its log";
	}
}

void doctor_ask(struct doctor *d)
{
	struct http_once q = { 0 };
	struct err err = ERR_INIT;
	int r;

	if (!d->askable) {
		checklist_say(&d->list, CHECK_SKIPPED, "controller",
			      "not checked until the above is fixed");
		return;
	}
	r = ask(&d->config, &q, &err);
	if (r < 0) {
		checklist_say(&d->list, CHECK_BAD, "controller", "%s", err.msg);
	} else if (q.r < 0) {
		checklist_say(&d->list, CHECK_BAD, "controller", "%s: %s", q.why, cure_of(q.r));
	} else {
		say_answer(d, &q);
		checklist_clock(&d->list, &q);
	}
	http_once_release(&q);
}
