/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_reach.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "cli/command.h"
#include "cli/doctor_visit.h"
#include "cli/view.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/net/checklist_clock.h"
#include "lib/net/http.h"
#include "lib/net/http_once.h"

enum { ANSWER_MAX = 8 * 1024 * 1024 }; /* bytes: a page of 1,000 hosts has 1 MiB */

#define ASK_US (10 * USEC_PER_SEC)
#define CERTIFICATE_SOON_US (14 * USEC_PER_DAY) /* enough time to find out why it was not renewed */

/* `trusting`: do not verify the server; only look at it, and send it no secrets. */
static int ask(const struct doctor_visit *d, const char *path, bool trusting, struct http_once *q,
	       struct err *err)
{
	const struct settings *s = &d->request->settings;
	const struct http_options options = {
		.ca_file = trusting ? NULL : s->ca_file,
		.cert_file = trusting ? NULL : s->cert_file,
		.key_file = trusting ? NULL : s->key_file,
		.token_file = trusting ? NULL : s->token_file,
		.insecure = trusting,
		.user_agent = "assayctl/" PACKAGE_VERSION,
	};
	CLEANUP(freep) char *url = xasprintf("%s%s", d->base, path);
	const struct http_call call = {
		.method = "GET",
		.url = url,
		.want = "Date",
		.certificate = starts_with(d->base, "https://"),
		.timeout_us = d->request->given & OPTION_BIT(OPTION_TIMEOUT) ? s->timeout_us
									     : ASK_US,
		.answer_max = ANSWER_MAX,
	};

	return http_once(&options, &call, q, err);
}

json_t *doctor_reach_get(struct doctor_visit *d, const char *item, const char *path)
{
	struct http_once q = { 0 };
	struct err err = ERR_INIT;
	json_t *value = NULL;
	int r = ask(d, path, false, &q, &err);

	if (r == 0 && q.r == 0 && q.status == 200)
		(void)json_parse(q.body, strlen(q.body), "answer", &value, &err);
	if (!value && r == 0 && q.r == 0) {
		CLEANUP(freep) char *detail = http_once_detail(&q);

		checklist_say(&d->list, CHECK_WARN, item, "%s is answered %u: %s", path, q.status,
			      detail ? detail : "see the controller's log");
	} else if (!value) {
		checklist_say(&d->list, CHECK_WARN, item, "%s: see the controller's log",
			      r < 0 ? err.msg : q.why);
	}
	http_once_release(&q);
	return value;
}

/* --- no answer --- */

static const char *cure_of(int r)
{
	switch (-r) {
	case ECONNREFUSED:
		return "start assay-controller there, or set ASSAY_CONTROLLER to the right host "
		       "and port";
	case EHOSTUNREACH:
		return "fix the name in ASSAY_CONTROLLER, or DNS";
	case ETIMEDOUT:
		return "check for a firewall, and whether that host is up";
	case EPROTO:
	case ECONNRESET:
		return "is it https or http? Fix ASSAY_CONTROLLER";
	default:
		return "see its log";
	}
}

/* "2027-11-27" */
static void day_of(uint64_t at_us, char ret[static CLOCK_STAMP_SIZE])
{
	clock_stamp(at_us, ret);
	ret[strcspn(ret, "T")] = '\0';
}

/* Its certificate is not trusted: describe it. */
static void say_untrusted(struct doctor_visit *d, const char *why)
{
	struct http_once q = { 0 };
	struct err err = ERR_INIT;
	const struct http_certificate *c = &q.certificate;
	char day[CLOCK_STAMP_SIZE];

	if (ask(d, "/v1/ca", true, &q, &err) == 0 && c->ends_us && c->ends_us < q.answered_us) {
		day_of(c->ends_us, day);
		checklist_say(
			&d->list, CHECK_BAD, "certificate",
			"expired on %s: run assayctl setup certificate on the controller, then "
			"systemctl reload assay-controller",
			day);
	} else if (c->begins_us > q.answered_us) {
		day_of(c->begins_us, day);
		checklist_say(&d->list, CHECK_BAD, "certificate",
			      "not valid before %s: set the clock of this machine", day);
	} else if (strstr(why, "subject name") || strstr(why, "match")) {
		checklist_say(
			&d->list, CHECK_BAD, "certificate",
			"not for the name in ASSAY_CONTROLLER: it is for %s: use one of those, or "
			"run assayctl setup certificate --names NAME on the controller",
			c->names[0] ? c->names : "no name");
	} else {
		checklist_say(&d->list, CHECK_BAD, "certificate",
			      "not signed by an authority trusted here: set ASSAY_CACERT to the "
			      "controller's ca.pem (%s)",
			      why);
	}
	http_once_release(&q);
}

/* --- an answer --- */

static void say_certificate(struct doctor_visit *d, const struct http_once *q)
{
	const struct http_certificate *c = &q->certificate;
	char day[CLOCK_STAMP_SIZE];

	if (!starts_with(d->base, "https://"))
		return;
	day_of(c->ends_us, day);
	if (!c->ends_us)
		checklist_say(&d->list, CHECK_SKIPPED, "certificate",
			      "trusted; this build of libcurl cannot tell when it expires");
	else if (c->ends_us < q->answered_us + CERTIFICATE_SOON_US)
		checklist_say(
			&d->list, CHECK_WARN, "certificate",
			"expires on %s: run assayctl setup certificate on the controller, then "
			"systemctl reload assay-controller",
			day);
	else
		checklist_say(&d->list, CHECK_OK, "certificate", "until %s, for %s", day, c->names);
}

/* What each role may do. */
static const struct {
	const char *role, *may;
} roles[] = {
	{ "read", "can look, and change nothing" },
	{ "operate", "can look, cordon and uncordon" },
	{ "admin", "may do everything" },
};

static void say_role(struct doctor_visit *d)
{
	const char *role = raw_at(d->who, "role"), *name = raw_at(d->who, "name");
	size_t i = 0;

	while (i < ARRAY_SIZE(roles) && !streq(roles[i].role, role))
		i++;
	if (json_is_true(json_object_get(d->who, "open")))
		checklist_say(&d->list, CHECK_WARN, "rights",
			      "the controller asks for no token, so anyone who can reach it may do "
			      "anything: set tokens in controller.yaml");
	else
		checklist_say(&d->list, CHECK_OK, "rights", "role %s%s%s: %s", role,
			      *name ? ", recorded as " : "", name,
			      i < ARRAY_SIZE(roles) ? roles[i].may : "unknown here");
}

static void say_status(struct doctor_visit *d, const struct http_once *answer)
{
	CLEANUP(freep) char *said = http_once_detail(answer);
	const char *detail = said ? said : "see the controller's log";

	switch (answer->status) {
	case 200:
		d->may_ask = json_parse(answer->body, strlen(answer->body), "answer", &d->who,
					NULL) == 0;
		if (d->may_ask)
			say_role(d);
		break;
	case 401:
		checklist_say(&d->list, CHECK_BAD, "rights",
			      "the controller does not know the token of %s: add it to "
			      "tokens.yaml, "
			      "or name another file",
			      d->request->settings.token_file
				      ? doctor_visit_source(d, OPTION_TOKEN_FILE)
				      : "nobody");
		break;
	case 403:
		checklist_say(&d->list, CHECK_BAD, "rights",
			      "%s: name a file with an operator's token (%s)", detail,
			      doctor_visit_source(d, OPTION_TOKEN_FILE));
		break;
	case 404:
		d->may_ask = true;
		checklist_say(&d->list, CHECK_WARN, "rights",
			      "it does not say which role this token has: update the controller");
		break;
	default:
		checklist_say(&d->list, CHECK_BAD, "rights", "answered %u: %s", answer->status,
			      detail);
	}
}

void doctor_reach(struct doctor_visit *d)
{
	struct http_once q = { 0 };
	struct err err = ERR_INIT;
	int r = ask(d, "/v1/whoami", false, &q, &err);

	if (r < 0) {
		checklist_say(&d->list, CHECK_BAD, "reach", "%s", err.msg);
	} else if (q.r == -EKEYREJECTED) {
		checklist_say(&d->list, CHECK_OK, "reach", "something answers at %s", d->base);
		say_untrusted(d, q.why);
	} else if (q.r < 0) {
		checklist_say(&d->list, CHECK_BAD, "reach", "%s: %s", q.why, cure_of(q.r));
	} else {
		checklist_say(&d->list, CHECK_OK, "reach", "%s answers", d->base);
		say_certificate(d, &q);
		checklist_clock(&d->list, &q);
		say_status(d, &q);
	}
	http_once_release(&q);
}
