/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports: one per call, or many as lines of one call. A host that was cut off sends its backlog;
 * its reports are processed in the order of their lines, and share one commit.
 */
#include <errno.h>
#include <string.h>

#include "controller/actions/burns.h"
#include "controller/actions/remediation.h"
#include "controller/campaign/campaigns.h"
#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/ingest/ingest.h"
#include "controller/routes/routes.h"
#include "controller/store/store.h"
#include "controller/store/store_topology.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/topology/topology_file.h"

enum {
	LINES_MAX = 64, /* processed per call: others have to wait meanwhile */
	WANTS_MAX = 8,	/* topologies requested per answer */
};

/* State of one call. */
struct intake {
	struct service *service;
	struct call *call;
	struct waiting waiting; /* its counters */
	const char *ages;	/* ages of the reports, from the sender; NULL: missing */
	json_t *wants;		/* digests of unknown topologies; NULL: none */
	bool broken;		/* the store has rolled everything back */
};

unsigned status_of_content(int r)
{
	switch (-r) {
	case EBADMSG:
		return 400;
	case E2BIG:
		return 413;
	case EOPNOTSUPP:
		return 415;
	case EINVAL:
		return 422;
	default:
		return 503;
	}
}

/* A node may report only on itself; an admin may replay reports of any. */
static bool may_report(const struct identity *who, const char *node)
{
	return who->role == ROLE_ADMIN || (who->role == ROLE_NODE && streq(who->node, node));
}

/* Is there room for one more host? They are counted only if there may be none. */
static bool has_room(struct service *s, const char *node)
{
	bool known = false;

	if (store_has_node(s->store, node, &known, NULL) < 0 || known)
		return true; /* a failing store reports that itself */
	if (s->nodes_most >= s->settings->nodes_max &&
	    store_count_nodes(s->store, &s->nodes_most, NULL) < 0)
		return true;
	if (s->nodes_most >= s->settings->nodes_max)
		return false;
	s->nodes_most++;
	return true;
}

/* Add to the array at `list` unless present, creating it if missing. */
static void add_name(json_t **list, const char *name)
{
	if (!*list)
		*list = json_array();
	if (!json_has_text(*list, name))
		(void)json_array_append_new(*list, json_string(name));
}

/* Request the topology with that digest unless it is known. */
static void note_topology(struct intake *in, const char *digest)
{
	bool known = true;

	if (topology_digest_ok(digest) && json_array_size(in->wants) < WANTS_MAX &&
	    store_has_topology(in->service->store, digest, &known, NULL) == 0 && !known)
		add_name(&in->wants, digest);
}

static unsigned keep_report(struct intake *in, const struct ingest *ingest, struct err *err)
{
	struct service *s = in->service;
	int place = ingest_keep(s->store, &s->rules, &s->baselines, &s->hosts, ingest, err);

	if (place < 0) {
		service_failed(s, err);
		in->broken = true;
		return 503;
	}
	if (place != PLACE_DUPLICATE) {
		remediation_report(s, &ingest->report, ingest->arrival.measured_us,
				   ingest->arrival.fresh);
		campaigns_report(s, &ingest->report);
		burns_report(s, &ingest->report);
	}
	note_topology(in, ingest->report.topology);
	s->counts.late += place == PLACE_LATE;
	if (place != PLACE_DUPLICATE)
		add_name(&in->waiting.nodes, ingest->report.node);
	in->waiting.accepted += place != PLACE_DUPLICATE;
	in->waiting.duplicates += place == PLACE_DUPLICATE;
	return place == PLACE_DUPLICATE ? 200 : 202;
}

static unsigned refused(struct intake *in, unsigned status)
{
	in->service->counts.refused++;
	return status;
}

static unsigned too_often(struct intake *in, const char *node, struct err *err)
{
	(void)err_set(err, EBUSY, "'%s' reports too often (report-rate, report-burst)", node);
	return refused(in, 429);
}

/* Checks a report whose sender may send now. Returns the status of a refusal; 0: none. */
static unsigned check_report(struct intake *in, const struct report *report, struct err *err)
{
	struct service *s = in->service;
	const struct identity *who = call_identity(in->call);

	if (!may_report(who, report->node)) {
		(void)err_set(err, EPERM, "this token may not report for '%s'", report->node);
		return refused(in, 403);
	}
	if (!who->node && !token_buckets_take(&s->buckets, report->node, clock_mono_us()))
		return too_often(in, report->node, err);
	if (!has_room(s, report->node)) {
		(void)err_set(err, EDQUOT, "too many hosts: nodes-max is reached");
		return refused(in, 503);
	}
	return 0;
}

/* Time of measurement. Each report takes one of the ages, in order. */
static struct report_clock next_arrival(struct intake *in)
{
	const char *time = call_header(in->call, "Assay-Time");
	size_t length = in->ages ? strcspn(in->ages, ",") : 0;
	CLEANUP(freep) char *age = in->ages ? xstrndup(in->ages, length) : NULL;

	if (in->ages)
		in->ages = in->ages[length] ? in->ages + length + 1 : NULL;
	return report_clock_of(age, time, clock_real_us());
}

/* Process one report. Returns its status, with a sentence unless that is 200 or 202. */
static unsigned take_report(struct intake *in, const struct packed *sent, struct err *err)
{
	CLEANUP(ingest_release) struct ingest ingest = { 0 };
	struct service *s = in->service;
	const char *sender = call_identity(in->call)->node;
	const struct report_clock arrival = next_arrival(in);
	unsigned status;
	int r;

	/* Rate limit, before the report costs anything. */
	if (sender && !token_buckets_take(&s->buckets, sender, clock_mono_us()))
		return too_often(in, sender, err);
	r = ingest_decode(sent, &s->memo, &ingest, err);
	if (r < 0) {
		s->counts.malformed++;
		return status_of_content(r);
	}
	ingest.arrival = arrival;
	status = check_report(in, &ingest.report, err);
	return status ? status : keep_report(in, &ingest, err);
}

static struct intake intake_of(struct service *s, struct call *call)
{
	return (struct intake){ .service = s, .call = call, .ages = call_header(call, "Assay-Age") };
}

static struct packed sent_body(struct call *call)
{
	struct packed sent = { .coding = PACK_PLAIN };
	bool gzip = false;

	sent.bytes = call_body(call, &sent.length, &gzip);
	sent.coding = gzip ? PACK_GZIP : PACK_PLAIN;
	return sent;
}

/* Answer with `answer` (takes ownership) and the wanted topologies, once all is durable. */
static void finish(struct intake *in, unsigned status, json_t *answer)
{
	if (in->wants)
		(void)json_object_set_new(answer, "want_topologies", TAKE(in->wants));
	in->waiting.call = in->call;
	in->waiting.status = status;
	in->waiting.answer = answer;
	service_wait(in->service, &in->waiting);
}

/* Process the call, unless the batch is full: better refused now than answered too late. */
static void take_in_batch(struct service *s, struct call *call,
			  void (*take)(struct service *s, struct call *call))
{
	uint64_t start_us = clock_mono_us();

	if (stands_by(s, call))
		return;
	if (service_full(s)) {
		s->counts.shed++;
		call_retry_within(call, load_shed_tell(&s->shed, start_us));
		call_refuse(call, 503, "too many reports at once");
		return;
	}
	take(s, call);
	s->batch_work_us += clock_mono_us() - start_us;
}

static void take_one(struct service *s, struct call *call)
{
	struct intake in = intake_of(s, call);
	const struct packed sent = sent_body(call);
	struct err err = ERR_INIT;
	unsigned status = take_report(&in, &sent, &err);

	if (status >= 300)
		call_refuse(call, status, "%s", err.msg);
	else /* the original of a duplicate may not be durable yet: wait, too */
		finish(&in, status, json_pack("{s:i}", status == 200 ? "duplicate" : "accepted", 1));
}

void post_report(void *context, struct call *call)
{
	take_in_batch(context, call, take_one);
}

/* --- many at once --- */

/* May the next line be processed? A line that has to be retried ends the call. */
static bool is_final(unsigned status)
{
	return status < 300 || status == 400 || status == 413 || status == 422;
}

static void add_result(json_t *results, unsigned status, const struct err *err)
{
	json_t *result = json_pack("{s:i}", "status", (int)status);

	if (status >= 300)
		(void)json_object_set_new(result, "detail", json_string(err->msg));
	(void)json_array_append_new(results, result);
}

/* Log it here: after accepted lines the call is answered with those. */
static void say_foreign(const struct intake *in, unsigned status, size_t taken,
			const struct err *err)
{
	if (status == 403 && taken > 0 && api_tells(in->service->api, API_SAY_ROLE))
		log_warning("refused: %s status=403 line=%zu", err->msg, taken + 1);
}

/*
 * Process lines until one has to be retried. Returns its status, or 0; `results` has those before
 * it.
 */
static unsigned take_lines(struct intake *in, const char *text, size_t length, json_t *results,
			   struct err *err)
{
	const char *end = text + length;

	while (text < end && json_array_size(results) < LINES_MAX) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *stop = newline ? newline : end;
		const struct packed line = { PACK_PLAIN, text, (size_t)(stop - text) };
		unsigned status;

		*err = (struct err)ERR_INIT;
		status = take_report(in, &line, err);
		if (!is_final(status)) {
			say_foreign(in, status, json_array_size(results), err);
			return status;
		}
		add_result(results, status, err);
		text = newline ? newline + 1 : end;
	}
	return 0;
}

static void answer_lines(struct intake *in, unsigned status, json_t *results, const struct err *err)
{
	const bool some = json_array_size(results) > 0;

	if (in->broken || (status && !some)) {
		json_decref(in->wants);
		json_decref(in->waiting.nodes);
		call_refuse(in->call, status, "%s", err->msg);
	} else if (!some) {
		call_refuse(in->call, 400, "reports: the body has none");
	} else {
		finish(in, 202,
		       json_pack("{s:i, s:i, s:O}", "accepted", (int)in->waiting.accepted,
				 "duplicate", (int)in->waiting.duplicates, "results", results));
	}
}

static void take_many(struct service *s, struct call *call)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(REPORT_MAX);
	CLEANUP(json_freep) json_t *results = json_array();
	struct intake in = intake_of(s, call);
	const struct packed sent = sent_body(call);
	struct err err = ERR_INIT;
	unsigned status;
	int r = pack_open(&sent, &text, &err);

	if (r < 0) {
		call_refuse(call, r == -EINVAL ? 400 : status_of_content(r), "reports: %s", err.msg);
		return;
	}
	status = take_lines(&in, strbuf_text(&text), text.len, results, &err);
	answer_lines(&in, status, results, &err);
}

void post_reports(void *context, struct call *call)
{
	take_in_batch(context, call, take_many);
}
