/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/config/settings.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/campaign/campaign_measure.h"
#include "controller/cluster/cluster_names.h"
#include "controller/http/api.h"
#include "controller/http/listen_address.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/macro.h"
#include "lib/base/xalloc.h"
#include "lib/json/jsome.h"
#include "lib/json/json.h"
#include "lib/policy/policy.h"
#include "lib/sys/paths.h"

/* The section `collectives` of controller.yaml. */

enum {
	PORT_DEFAULT = 7400, /* the first that assayd allows */
	PORT_MOST = 65535,
	AT_ONCE_DEFAULT = 32,
	AT_ONCE_MOST = 256,
};

#define TIMEOUT_DEFAULT_US (2 * USEC_PER_MIN)
#define TIMEOUT_LEAST_US USEC_PER_SEC
#define TIMEOUT_MOST_US USEC_PER_HOUR

static const char *const address_names[] = { "auto", "name", "file", NULL };

#define COLLECTIVES(member) offsetof(struct settings_collectives, member)

static const struct jfield collectives_fields[] = {
	{ "port", J_U64, COLLECTIVES(port), 0, 1, PORT_MOST },
	{ "address", J_ENUM, COLLECTIVES(address), 0, .names = address_names },
	{ "file", J_STRING, COLLECTIVES(file), 0 },
	{ "label", J_STRING, COLLECTIVES(label), 0 },
	{ "timeout", J_DURATION, COLLECTIVES(timeout_us), 0 },
	{ "at-once", J_U64, COLLECTIVES(at_once), 0, 2, AT_ONCE_MOST },
	{ "memory", J_ENUM, COLLECTIVES(memory), 0, .names = campaign_memory_names },
};

/* Defaults of the section `collectives`. */
static struct settings_collectives settings_collectives_init(void)
{
	return (struct settings_collectives){ .port = PORT_DEFAULT,
					      .timeout_us = TIMEOUT_DEFAULT_US,
					      .at_once = AT_ONCE_DEFAULT };
}

static int settings_decode_collectives(const struct jval *v, void *member, struct err *err)
{
	const struct settings_collectives *c = member;
	const struct jval timeout = jval_get(v, "timeout"), address = jval_get(v, "address");
	int r = jval_decode(v, collectives_fields, ARRAY_SIZE(collectives_fields), JVAL_STRICT,
			    member, err);

	if (r == 0 && (c->timeout_us < TIMEOUT_LEAST_US || c->timeout_us > TIMEOUT_MOST_US))
		return jval_fail(&timeout, err, "expected 1s to 1h");
	if (r == 0 && c->address == COLLECTIVES_BY_FILE && !c->file)
		return jval_fail(&address, err, "file: needs its key file as well");
	return r;
}

static void settings_collectives_release(struct settings_collectives *c)
{
	free(c->file);
	free(c->label);
	*c = (struct settings_collectives){ 0 };
}

/* The section `kubernetes` of controller.yaml. */

static const char *const effects[] = { "NoSchedule", "PreferNoSchedule", NULL };

#define TAINT(member) offsetof(struct settings_taint, member)

static const struct jfield taint_fields[] = {
	{ "key", J_STRING, TAINT(key), 0 },
	{ "value", J_STRING, TAINT(value), 0 },
	{ "effect", J_ENUM, TAINT(effect), 0, .names = effects },
};

const char *settings_taint_effect(const struct settings_taint *taint)
{
	return effects[taint->effect];
}

static void taint_release(struct settings_taint *taint)
{
	free(taint->key);
	free(taint->value);
	*taint = (struct settings_taint){ 0 };
}

/* `none`, or {key, value, effect}; without a key it is empty, and name_taint() fills it in. */
static int decode_taint(const struct jval *v, void *member, struct err *err)
{
	struct settings_taint *taint = member;
	const char *effect = json_string_value(json_object_get(v->value, "effect"));
	int r;

	taint_release(taint);
	if (streq(json_string_value(v->value), "none"))
		return 0;
	if (!json_is_object(v->value))
		return jval_fail(v, err, "expected none, or {key, value, effect}");
	if (streq(effect, "NoExecute"))
		return jval_fail(v, err,
				 "effect: NoExecute would kill running pods past their disruption "
				 "budgets: expected NoSchedule or PreferNoSchedule");
	r = jval_decode(v, taint_fields, ARRAY_SIZE(taint_fields), JVAL_STRICT, taint, err);
	if (r == 0 && taint->key && !taint->key[0])
		return jval_fail(v, err, "key: must not be empty");
	if (r == 0 && !taint->key)
		taint->key = xstrdup("");
	return r;
}

/* The default key has our prefix; keys with another meaning there are refused. */
static int name_taint(const struct jval *v, struct settings_kube *kube, struct err *err)
{
	const struct cluster_names names = cluster_names_of(kube->prefix);
	const char *const others[] = { names.testing, names.unverified };
	const struct jval taint = jval_get(v, "taint"), key = jval_get(&taint, "key");
	size_t i;

	if (kube->taint.key && !kube->taint.key[0]) {
		free(kube->taint.key);
		kube->taint.key = xstrdup(names.unhealthy);
	}
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		if (streq(kube->taint.key, others[i]))
			return jval_fail(
				&key,
				err, "%s is used for something else: expected another key, or none for %s",
				others[i], names.unhealthy);
	}
	return 0;
}

static int decode_prefix(const struct jval *v, void *member, struct err *err)
{
	const char *text = json_string_value(v->value);
	const char *wrong = text ? cluster_prefix_wrong(text) : "a text";

	if (wrong)
		return jval_fail(v, err, "expected %s", wrong);
	free(*(char **)member);
	*(char **)member = xstrdup(text);
	return 0;
}

/* Its content is checked by remediation_kube.c. */
static int decode_jobs(const struct jval *v, void *member, struct err *err)
{
	int r = jval_need_array(v, err);

	if (r < 0)
		return r;
	json_decref(*(json_t **)member);
	*(json_t **)member = json_deep_copy(v->value);
	return 0;
}

#define KUBE(member) offsetof(struct settings_kube, member)

static const struct jfield kube_fields[] = {
	{ "namespace", J_STRING, KUBE(namespace), 0 },
	{ "selector", J_STRING, KUBE(selector), 0 },
	{ "prefix", J_CUSTOM, KUBE(prefix), 0, .decode = decode_prefix },
	{ "taint", J_CUSTOM, KUBE(taint), 0, .decode = decode_taint },
	{ "young", J_DURATION, KUBE(young_us), 0 },
	{ "jobs", J_CUSTOM, KUBE(jobs), 0, .decode = decode_jobs },
	{ "agents", J_CUSTOM, KUBE(authz), 0, .decode = authz_decode_agents },
	{ "identities", J_CUSTOM, KUBE(authz), 0, .decode = authz_decode_identities },
	{ "identity-for", J_DURATION, KUBE(authz.for_us), 0 },
};

/* For J_CUSTOM: the section `kubernetes`, into a struct settings_kube. */
static int settings_decode_kube(const struct jval *v, void *member, struct err *err)
{
	int r = jval_decode(v, kube_fields, ARRAY_SIZE(kube_fields), JVAL_STRICT, member, err);

	return r == 0 ? name_taint(v, member, err) : r;
}

static void settings_kube_release(struct settings_kube *kube)
{
	free(kube->namespace);
	free(kube->selector);
	free(kube->prefix);
	taint_release(&kube->taint);
	authz_release(&kube->authz);
	json_decref(kube->jobs);
	*kube = (struct settings_kube){ 0 };
}

static bool settings_kube_same(const struct settings_kube *a, const struct settings_kube *b)
{
	return streq(a->namespace, b->namespace) && streq(a->selector, b->selector) &&
	       streq(a->prefix, b->prefix) && streq(a->taint.key, b->taint.key) &&
	       streq(a->taint.value, b->taint.value) && a->taint.effect == b->taint.effect &&
	       a->young_us == b->young_us && authz_same(&a->authz, &b->authz) &&
	       (a->jobs == b->jobs || (a->jobs && b->jobs && json_equal(a->jobs, b->jobs)));
}

enum {
	NODES_DEFAULT = 20000,
	NODES_MOST = 1000000,
	LABELS_MAX = 4096,
	CONNECTIONS_MOST = 500000,
	/* Two days of a spool come at once; then one report every few minutes. */
	REPORT_RATE_DEFAULT = 5,
	REPORT_BURST_DEFAULT = 1000,
	REPORT_RATE_MOST = 100000,
};

/* The least that holds what is never thinned for a few hosts. */
#define DB_MAX_LEAST 1e6
#define DB_MAX_MOST 1e15

const char *const cluster_names[] = { "embedded", "kubernetes", NULL };

static int decode_version(const struct jval *v, void *member UNUSED, struct err *err)
{
	return json_is_integer(v->value) && json_integer_value(v->value) == 1
		       ? 0
		       : jval_fail(v, err, "expected 1: this program reads version 1 only");
}

#define LADDER(member) offsetof(struct retention_ladder, member)

static const struct jfield ladder_fields[] = {
	{ "all", J_DURATION, LADDER(all_us), 0 },
	{ "hourly", J_DURATION, LADDER(hourly_us), 0 },
	{ "daily", J_DURATION, LADDER(daily_us), 0 },
};

/* Each time must be at least the one before. */
static int decode_ladder(const struct jval *v, void *member, struct err *err)
{
	const struct retention_ladder *ladder = member;
	int r = jval_decode(v, ladder_fields, ARRAY_SIZE(ladder_fields), JVAL_STRICT, member, err);

	if (r == 0 && ladder->all_us < RETENTION_LEAST_US)
		return jval_fail(v, err, "all: expected at least 1h");
	if (r == 0 && (ladder->all_us > ladder->hourly_us || ladder->hourly_us > ladder->daily_us))
		return jval_fail(v, err, "expected all <= hourly <= daily");
	return r;
}

#define KEEP(member) offsetof(struct retention, member)

static const struct jfield keep_fields[] = {
	{ "pass", J_CUSTOM, KEEP(pass), 0, .decode = decode_ladder },
	{ "bad", J_CUSTOM, KEEP(bad), 0, .decode = decode_ladder },
	{ "incidents", J_DURATION, KEEP(incidents_us), 0 },
	{ "nodes", J_DURATION, KEEP(nodes_us), 0 },
};

static int decode_keep(const struct jval *v, void *member, struct err *err)
{
	const struct retention *keep = member;
	const struct retention_ladder *pass = &keep->pass, *bad = &keep->bad;
	int r = jval_decode(v, keep_fields, ARRAY_SIZE(keep_fields), JVAL_STRICT, member, err);

	if (r == 0 && (bad->all_us < pass->all_us || bad->hourly_us < pass->hourly_us ||
		       bad->daily_us < pass->daily_us))
		return jval_fail(v, err, "bad: expected each period to be at least that of pass");
	if (r == 0 && keep->nodes_us < USEC_PER_DAY)
		return jval_fail(v, err, "nodes: expected at least 1d");
	return r;
}

static const struct jfield label_fields[] = {
	{ "nodes", J_STRING, 0, J_REQUIRED },
	{ "labels", J_OBJECT, sizeof(char *), J_REQUIRED },
};

static int check_label(const struct jval *item, struct err *err)
{
	struct {
		char *nodes;
		json_t *labels;
	} one = { 0 };
	const char *key;
	const json_t *value;
	int r = jval_decode(item, label_fields, ARRAY_SIZE(label_fields), JVAL_STRICT, &one, err);

	json_object_foreach(one.labels, key, value)
	{
		if (r == 0 && !json_is_string(value))
			r = jval_fail(item, err, "labels.%s: expected a string", key);
	}
	free(one.nodes);
	json_decref(one.labels);
	return r;
}

/* Labels of hosts: [{nodes: "gpu-1*", labels: {KEY: TEXT}}]. */
static int decode_labels(const struct jval *v, void *member, struct err *err)
{
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r == 0 && n > LABELS_MAX)
		r = jval_fail(v, err, "%zu entries, more than %d", n, LABELS_MAX);
	for (i = 0; r == 0 && i < n; i++) {
		struct jval item = jval_at(v, i);

		r = check_label(&item, err);
	}
	if (r == 0) {
		json_decref(*(json_t **)member);
		*(json_t **)member = json_deep_copy(v->value);
	}
	return r;
}

struct document {
	struct settings settings;
};

#define AT(member) offsetof(struct document, settings.member)

static const struct jfield fields[] = {
	{ "v", J_CUSTOM, 0, J_REQUIRED, .decode = decode_version },
	{ "listen", J_STRING, AT(listen), 0 },
	{ "db", J_CUSTOM, AT(db), 0, .decode = jsome_text },
	{ "cluster", J_ENUM, AT(cluster), 0, .names = cluster_names },
	{ "kubeconfig", J_CUSTOM, AT(kubeconfig), 0, .decode = jsome_text },
	{ "kubernetes", J_CUSTOM, AT(kube), 0, .decode = settings_decode_kube },
	{ "mode", J_ENUM, AT(mode), 0, .names = policy_mode_names },
	{ "labels", J_CUSTOM, AT(labels), 0, .decode = decode_labels },
	{ "policy", J_CUSTOM, AT(policy), 0, .decode = jsome_text },
	{ "tokens", J_CUSTOM, AT(tokens), 0, .decode = jsome_text },
	{ "tls-cert", J_CUSTOM, AT(tls_cert), 0, .decode = jsome_text },
	{ "tls-key", J_CUSTOM, AT(tls_key), 0, .decode = jsome_text },
	{ "client-ca", J_CUSTOM, AT(client_ca), 0, .decode = jsome_text },
	{ "ca", J_CUSTOM, AT(ca), 0, .decode = jsome_text },
	{ "insecure", J_BOOL, AT(insecure), 0 },
	{ "connections-max", J_U64, AT(connections_max), 0, 1, CONNECTIONS_MOST },
	{ "connections-per-peer", J_U64, AT(connections_per_peer), 0, 1, CONNECTIONS_MOST },
	{ "nodes-max", J_U64, AT(nodes_max), 0, 1, NODES_MOST },
	{ "report-rate", J_U64, AT(report_rate), 0, 1, REPORT_RATE_MOST },
	{ "report-burst", J_U64, AT(report_burst), 0, 1, REPORT_RATE_MOST },
	{ "collectives", J_CUSTOM, AT(collectives), 0, .decode = settings_decode_collectives },
	{ "keep", J_CUSTOM, AT(keep), 0, .decode = decode_keep },
	{ "metrics-nodes", J_BOOL, AT(metrics_nodes), 0 },
	{ "alertmanagers", J_CUSTOM, AT(alerts), 0, .decode = settings_alerts_decode },
	{ "external-url", J_CUSTOM, AT(external_url), 0, .decode = settings_alerts_decode_url },
	{ "page", J_CUSTOM, AT(page), 0, .decode = settings_page_decode },
	{ "jobs", J_CUSTOM, AT(jobs), 0, .decode = settings_jobs_decode },
	{ "db-max", J_U64, AT(db_max), 0, DB_MAX_LEAST, DB_MAX_MOST },
};

struct settings settings_init(void)
{
	CLEANUP(freep) char *state = paths_state();

	return (struct settings){
		.listen = xstrdup("127.0.0.1:9470"),
		.db = xasprintf("%s/assay.db", state),
		.cluster = CLUSTER_EMBEDDED,
		.kube.authz.for_us = AUTHZ_FOR_US,
		.mode = MODE_OBSERVE,
		.connections_max = API_CONNECTIONS_DEFAULT,
		.connections_per_peer = API_CONNECTIONS_PEER_DEFAULT,
		.nodes_max = NODES_DEFAULT,
		.report_rate = REPORT_RATE_DEFAULT,
		.report_burst = REPORT_BURST_DEFAULT,
		.keep = retention_init(),
		.collectives = settings_collectives_init(),
		.page = settings_page_init(),
		.jobs = settings_jobs_init(),
	};
}

void settings_release(struct settings *s)
{
	char **owned[] = { &s->read_from, &s->listen, &s->db,	       &s->kubeconfig,
			   &s->policy,	  &s->tokens, &s->tls_cert,    &s->tls_key,
			   &s->client_ca, &s->ca,     &s->external_url };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(owned); i++) {
		free(*owned[i]);
		*owned[i] = NULL;
	}
	settings_kube_release(&s->kube);
	settings_collectives_release(&s->collectives);
	settings_alerts_release(&s->alerts);
	settings_page_release(&s->page);
	json_decref(TAKE(s->labels));
}

int settings_read(const char *path, struct settings *s, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct document document = { .settings = *s };
	struct jval root;
	int r = yaml_read_file(path, &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, path);
	r = jval_decode(&root, fields, ARRAY_SIZE(fields), JVAL_STRICT, &document, err);
	*s = document.settings;
	free(s->read_from);
	s->read_from = xstrdup(path);
	return r;
}

static bool is_loopback(const char *listen)
{
	struct listen_address address;
	struct err ignored = ERR_INIT;

	return listen_address_read(listen, &address, &ignored) == 0 &&
	       listen_address_is_loopback(&address);
}

/* Regardless of `insecure`: people type their tokens into the page. */
static int check_page(const struct settings *s, struct err *err)
{
	if (s->page.proxy.certificate && !s->client_ca)
		return err_set(err, EINVAL,
			       "page.proxy: needs client-ca, which signed its certificate");
	if (!s->page.on || is_loopback(s->listen))
		return 0;
	if (!s->tls_cert)
		return err_set(
			err, EINVAL,
			"page: the tokens that people type would be sent unencrypted: set tls-cert "
			"and tls-key, or listen on 127.0.0.1");
	if (!s->tokens)
		return err_set(err, EINVAL,
			       "page: users log in with a token: set tokens, or listen "
			       "on 127.0.0.1");
	return 0;
}

bool settings_page_waits(const struct settings *s, const struct settings *fresh)
{
	struct settings merged = *s;
	struct err ignored = ERR_INIT;

	merged.page = fresh->page;
	return check_page(&merged, &ignored) < 0;
}

char *settings_renew(struct settings *s, struct settings *fresh)
{
	const struct {
		const char *key;
		bool same;
	} rows[] = {
		{ "listen", streq(s->listen, fresh->listen) },
		{ "db", streq(s->db, fresh->db) },
		{ "cluster", s->cluster == fresh->cluster },
		{ "kubeconfig", streq(s->kubeconfig, fresh->kubeconfig) },
		{ "kubernetes", settings_kube_same(&s->kube, &fresh->kube) },
		{ "mode", s->mode == fresh->mode },
		{ "labels", json_equal(s->labels, fresh->labels) || (!s->labels && !fresh->labels) },
		{ "policy", streq(s->policy, fresh->policy) },
		{ "tokens", streq(s->tokens, fresh->tokens) },
		{ "tls-cert", streq(s->tls_cert, fresh->tls_cert) },
		{ "tls-key", streq(s->tls_key, fresh->tls_key) },
		{ "client-ca", streq(s->client_ca, fresh->client_ca) },
		{ "ca", streq(s->ca, fresh->ca) },
		{ "insecure", s->insecure == fresh->insecure },
		{ "connections-max", s->connections_max == fresh->connections_max },
		{ "connections-per-peer", s->connections_per_peer == fresh->connections_per_peer },
		{ "alertmanagers", settings_alerts_same(&s->alerts, &fresh->alerts) },
		{ "external-url", streq(s->external_url, fresh->external_url) },
		{ "page", !settings_page_waits(s, fresh) },
		{ "page.proxy", page_proxy_same(&s->page.proxy, &fresh->page.proxy) },
	};
	char *others = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *before = others;

		if (rows[i].same)
			before = NULL;
		else
			others = xasprintf("%s%s%s", before ? before : "", before ? ", " : "",
					   rows[i].key);
	}
	s->nodes_max = fresh->nodes_max;
	s->report_rate = fresh->report_rate;
	s->report_burst = fresh->report_burst;
	s->keep = fresh->keep;
	s->jobs = fresh->jobs;
	s->db_max = fresh->db_max;
	s->metrics_nodes = fresh->metrics_nodes;
	if (!settings_page_waits(s, fresh)) {
		s->page.on = fresh->page.on;
		s->page.role = fresh->page.role;
	}
	settings_collectives_release(&s->collectives);
	s->collectives = fresh->collectives;
	fresh->collectives = settings_collectives_init();
	return others;
}

static bool names_users(const struct settings *s)
{
	return s->kube.authz.agents_told || s->kube.authz.n > 0;
}

bool settings_token_review(const struct settings *s)
{
	return s->cluster == CLUSTER_KUBERNETES || s->kubeconfig || names_users(s);
}

bool settings_open(const struct settings *s)
{
	bool reviewed = settings_token_review(s) && (names_users(s) || !is_loopback(s->listen));

	return !s->tokens && !s->client_ca && !reviewed;
}

bool settings_open_to_host(const struct settings *s)
{
	return settings_open(s) && is_loopback(s->listen);
}

int settings_check(const struct settings *s, struct err *err)
{
	struct listen_address address;
	int r;

	if (!s->listen || !s->db)
		return err_set(err, EINVAL, "listen and db must not be empty");
	r = listen_address_read(s->listen, &address, err);
	if (r < 0)
		return err_wrap(err, r, "listen");
	if (s->cluster == CLUSTER_KUBERNETES && s->labels)
		return err_set(err, EINVAL,
			       "labels: only for cluster embedded: with kubernetes, the nodes' own "
			       "labels are used");
	if (!s->tls_cert != !s->tls_key)
		return err_set(err, EINVAL, "%s: needs %s: they go together",
			       s->tls_cert ? "tls-cert" : "tls-key",
			       s->tls_cert ? "tls-key" : "tls-cert");
	if (s->client_ca && !s->tls_cert)
		return err_set(err, EINVAL, "client-ca: needs tls-cert and tls-key");
	if (s->ca && !s->tls_cert)
		return err_set(err, EINVAL, "ca: needs tls-cert, which it signed");
	if (!s->tls_cert && !is_loopback(s->listen) && !s->insecure)
		return err_set(err, EINVAL,
			       "listen: %s: traffic would be unencrypted: set tls-cert and "
			       "tls-key, or insecure",
			       s->listen);
	if (settings_open(s) && !is_loopback(s->listen) && !s->insecure)
		return err_set(
			err, EINVAL,
			"listen: %s: anyone could report: set tokens or client-ca, or insecure",
			s->listen);
	return check_page(s, err);
}
