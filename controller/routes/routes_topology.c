/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topologies: a host sends its own when requested in the answer to a report. Our own encoding of
 * the parsed content is stored, under a digest that we compute, so that nothing else can be put in
 * its place.
 */
#include <errno.h>
#include <stdlib.h>

#include "controller/controller.h"
#include "controller/http/api.h"
#include "controller/routes/routes.h"
#include "controller/store/pack.h"
#include "controller/store/store.h"
#include "controller/store/store_topology.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/topology/topology.h"
#include "lib/topology/topology_file.h"

/* Total limit, per known host: hardware seldom changes. */
enum { TOPOLOGIES_PER_NODE = 2 };

static bool may_put(struct service *s, struct call *call)
{
	const struct identity *who = call_identity(call);

	if (who->role != ROLE_ADMIN && who->role != ROLE_NODE) {
		call_refuse(call, 403, "this token may not send topologies");
		return false;
	}
	if (who->node && !token_buckets_take(&s->buckets, who->node, clock_mono_us())) {
		s->counts.refused++;
		call_refuse(call, 429, "'%s' sends too often (report-rate, report-burst)",
			    who->node);
		return false;
	}
	return true;
}

static int parse_body(struct call *call, json_t **ret, struct err *err)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TOPOLOGY_TEXT_MAX);
	struct packed sent = { .coding = PACK_PLAIN };
	bool gzip = false;
	int r;

	sent.bytes = call_body(call, &sent.length, &gzip);
	if (gzip)
		sent.coding = PACK_GZIP;
	r = pack_open(&sent, &text, err);
	if (r == 0)
		r = json_parse(strbuf_text(&text), text.len, "topology", ret, err);
	return r == -EINVAL ? -EBADMSG : r;
}

/* The digests in the path, in the body and of the content must be equal. */
static int check_digest(const struct topology *t, const struct jval *root, const char *named,
			struct err *err)
{
	struct jval said = jval_get(root, "digest");

	if (said.value && !streq(json_string_value(said.value), t->digest))
		return jval_fail(&said, err, "the content has the digest %s", t->digest);
	if (!streq(named, t->digest))
		return err_set(err, EINVAL, "topology: the content has the digest %s, not %.80s",
			       t->digest, named);
	return 0;
}

/* Decode, check, encode: `ret_text` is new memory. */
static int read_topology(struct call *call, char **ret_text, struct err *err)
{
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
	CLEANUP(json_freep) json_t *sent = NULL;
	CLEANUP(json_freep) json_t *clean = NULL;
	struct jval root;
	int r = parse_body(call, &sent, err);

	if (r < 0)
		return r;
	root = jval_root(sent, "topology");
	r = topology_decode(&root, &t, err);
	if (r == 0)
		r = check_digest(&t, &root, call_segment(call), err);
	if (r < 0)
		return r;
	clean = topology_encode(&t);
	*ret_text = json_line(clean);
	return 0;
}

static int keep(struct service *s, const char *digest, const char *text, unsigned *ret_status,
		struct err *err)
{
	const struct store_topology in = { digest, text, clock_real_us() };
	bool known = false;
	int r = store_has_topology(s->store, digest, &known, err);

	*ret_status = known ? 200 : 201;
	if (r == 0 && !known)
		r = store_add_topology(s->store, &in, s->settings->nodes_max * TOPOLOGIES_PER_NODE,
				       err);
	return r;
}

void put_topology(void *context, struct call *call)
{
	CLEANUP(freep) char *text = NULL;
	struct service *s = context;
	struct waiting waiting = { .call = call };
	struct err err = ERR_INIT;
	int r;

	if (!may_put(s, call) || stands_by(s, call))
		return;
	r = read_topology(call, &text, &err);
	if (r < 0) {
		call_refuse(call, status_of_content(r), "%s", err.msg);
		return;
	}
	r = keep(s, call_segment(call), text, &waiting.status, &err);
	if (r < 0) {
		if (r != -EDQUOT)
			service_failed(s, &err);
		call_refuse(call, 503, "the topology could not be stored: %s", err.msg);
		return;
	}
	waiting.answer = json_pack("{s:s}", "digest", call_segment(call));
	/* A known one may not be durable yet: wait, too. */
	service_wait(s, &waiting);
}

void get_topology(void *context, struct call *call)
{
	struct service *s = context;
	char *text = NULL;
	struct err err = ERR_INIT;
	int r = store_topology(s->store, call_segment(call), &text, &err);

	if (r < 0)
		refuse_store(call, r, &err);
	else
		call_reply_text(call, 200, "application/json", text);
}
