/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/doctor/doctor_ask.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <systemd/sd-event.h>

#include "agents/doctor/doctor.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/net/http.h"

enum { ANSWER_MAX = 64 * 1024 };

#define ASK_US (10 * USEC_PER_SEC)
/* A clock may be so far off before it is told, and before it is bad: certificates and reports of
 * hosts are dated by it. */
#define CLOCK_WARN_S 5
#define CLOCK_BAD_S 60

DEFINE_CLEANUP(struct sd_event *, sd_event_unref, event_unrefp);

struct question {
	sd_event *event;
	int r;
	unsigned status;
	uint64_t asked_us, answered_us; /* by our clock */
	char *why, *date, *detail;	/* owned, or NULL */
};

static void question_release(struct question *q)
{
	free(q->why);
	free(q->date);
	free(q->detail);
}

static void on_answer(void *context, const struct http_answer *answer)
{
	CLEANUP(json_freep) json_t *object = NULL;
	struct question *q = context;

	q->answered_us = clock_real_us();
	q->r = answer->r;
	q->status = answer->status;
	q->why = xstrdup(answer->why);
	q->date = xstrdup(answer->wanted);
	(void)json_parse(answer->body, answer->len, "answer", &object, NULL);
	q->detail = xstrdup(json_string_value(json_object_get(object, "detail")));
	(void)sd_event_exit(q->event, 0);
}

static int ask(const struct assayd_config *c, struct question *q, struct err *err)
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
		.done = on_answer,
		.context = q,
	};
	CLEANUP(event_unrefp) sd_event *event = NULL;
	CLEANUP(http_freep) struct http *http = NULL;
	int r = sd_event_new(&event);

	if (r < 0)
		return err_errno(err, -r, "event loop");
	q->event = event;
	q->asked_us = clock_real_us();
	r = http_new(event, &options, &http, err);
	if (r == 0)
		r = http_send(http, &call, NULL, err);
	if (r < 0)
		return r;
	r = sd_event_loop(event);
	return r < 0 ? err_errno(err, -r, "event loop") : 0;
}

/*
 * The header Date (RFC 9110, 5.6.7, whole seconds) was written between our question and its
 * answer: what lies outside of that is the clocks'.
 */
static long long ahead_s(const struct question *q, time_t said)
{
	const long long asked = (long long)(q->asked_us / USEC_PER_SEC);
	const long long answered = (long long)(q->answered_us / USEC_PER_SEC);

	if (asked > (long long)said)
		return asked - (long long)said;
	return answered < (long long)said ? answered - (long long)said : 0;
}

static void say_clock(struct doctor *d, const struct question *q)
{
	struct tm tm = { 0 };
	const char *end = q->date ? strptime(q->date, "%a, %d %b %Y %H:%M:%S GMT", &tm) : NULL;
	long long ahead;

	if (!end || *end)
		return;
	ahead = ahead_s(q, timegm(&tm));
	if (llabs(ahead) <= CLOCK_WARN_S)
		doctor_say(d, DOCTOR_OK, "clock", "as the controller's");
	else
		doctor_say(d, llabs(ahead) > CLOCK_BAD_S ? DOCTOR_BAD : DOCTOR_WARN, "clock",
			   "%lld s %s the controller's: start chrony or systemd-timesyncd on both",
			   llabs(ahead), ahead > 0 ? "ahead of" : "behind");
}

static void say_answer(struct doctor *d, const struct question *q)
{
	const struct assayd_config *c = &d->config;
	const char *detail = q->detail ? q->detail : "it does not say why";

	switch (q->status) {
	case 200:
	case 204:
	case 400: /* of before `wait=none`: it has found that this host may ask */
		doctor_say(d, DOCTOR_OK, "controller", "%s takes reports of %s", c->controller,
			   c->node);
		break;
	case 401:
		doctor_say(
			d, DOCTOR_BAD, "controller",
			"%s does not know this host's token: join again (assayctl token reset %s, "
			"then assayctl join-command), or give tokens.yaml its row",
			c->controller, c->node);
		break;
	case 403:
		doctor_say(d, DOCTOR_BAD, "controller",
			   "%s does not take reports of %s by this token (%s): give node in "
			   "assayd.yaml the name that the token is for",
			   c->controller, c->node, detail);
		break;
	default:
		doctor_say(d, DOCTOR_WARN, "controller", "%s answers %u: %s", c->controller,
			   q->status, detail);
	}
}

/* What to do about an answer that did not come. */
static const char *cure_of(int r)
{
	switch (-r) {
	case ECONNREFUSED:
		return "start assay-controller there, or mend the port in assayd.yaml";
	case EHOSTUNREACH:
		return "mend the name in assayd.yaml, or the resolver";
	case EKEYREJECTED:
		return "give ca in assayd.yaml the authority that signed its certificate, or renew "
		       "that (assayctl setup certificate)";
	case ETIMEDOUT:
		return "a firewall, or a host that is down";
	default:
		return "see its log";
	}
}

void doctor_ask(struct doctor *d)
{
	CLEANUP(question_release) struct question q = { 0 };
	struct err err = ERR_INIT;
	int r;

	if (!d->askable) {
		doctor_say(d, DOCTOR_SKIPPED, "controller",
			   "not asked before what is above is mended");
		return;
	}
	r = ask(&d->config, &q, &err);
	if (r < 0) {
		doctor_say(d, DOCTOR_BAD, "controller", "%s", err.msg);
		return;
	}
	if (q.r < 0) {
		doctor_say(d, DOCTOR_BAD, "controller", "%s: %s", q.why, cure_of(q.r));
		return;
	}
	say_answer(d, &q);
	say_clock(d, &q);
}
