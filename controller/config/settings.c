/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/config/settings.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/config/settings_inside.h"
#include "controller/http/api.h"
#include "controller/http/listen_address.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/jsome.h"
#include "lib/json/json.h"
#include "lib/policy/policy.h"
#include "lib/sys/paths.h"

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

/* Less could not hold what is never thinned of a few hosts. */
#define DB_MAX_LEAST 1e6
#define DB_MAX_MOST 1e15

const char *const cluster_names[] = { "embedded", "kubernetes", NULL };

static int decode_version(const struct jval *v, void *member UNUSED, struct err *err)
{
	return json_is_integer(v->value) && json_integer_value(v->value) == 1
		       ? 0
		       : jval_fail(v, err, "want 1: this program reads version 1 only");
}

#define LADDER(member) offsetof(struct retention_ladder, member)

static const struct jfield ladder_fields[] = {
	{ "all", J_DURATION, LADDER(all_us), 0 },
	{ "hourly", J_DURATION, LADDER(hourly_us), 0 },
	{ "daily", J_DURATION, LADDER(daily_us), 0 },
};

/* What is kept longer cannot be what is kept shorter. */
static int decode_ladder(const struct jval *v, void *member, struct err *err)
{
	const struct retention_ladder *ladder = member;
	int r = jval_decode(v, ladder_fields, ARRAY_SIZE(ladder_fields), JVAL_STRICT, member, err);

	if (r == 0 && ladder->all_us < RETENTION_LEAST_US)
		return jval_fail(v, err, "all: want at least 1h");
	if (r == 0 && (ladder->all_us > ladder->hourly_us || ladder->hourly_us > ladder->daily_us))
		return jval_fail(v, err, "want all <= hourly <= daily");
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
		return jval_fail(v, err, "bad: want each at least that of pass");
	if (r == 0 && keep->nodes_us < USEC_PER_DAY)
		return jval_fail(v, err, "nodes: want at least 1d");
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
			r = jval_fail(item, err, "labels.%s: want a text", key);
	}
	free(one.nodes);
	json_decref(one.labels);
	return r;
}

/* Which hosts have which labels: [{nodes: "gpu-1*", labels: {KEY: TEXT}}]. */
static int decode_labels(const struct jval *v, void *member, struct err *err)
{
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r == 0 && n > LABELS_MAX)
		r = jval_fail(v, err, "%zu of them, more than %d", n, LABELS_MAX);
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
	{ "insecure", J_BOOL, AT(insecure), 0 },
	{ "connections-max", J_U64, AT(connections_max), 0, 1, CONNECTIONS_MOST },
	{ "connections-per-peer", J_U64, AT(connections_per_peer), 0, 1, CONNECTIONS_MOST },
	{ "nodes-max", J_U64, AT(nodes_max), 0, 1, NODES_MOST },
	{ "report-rate", J_U64, AT(report_rate), 0, 1, REPORT_RATE_MOST },
	{ "report-burst", J_U64, AT(report_burst), 0, 1, REPORT_RATE_MOST },
	{ "collectives", J_CUSTOM, AT(collectives), 0, .decode = settings_decode_collectives },
	{ "keep", J_CUSTOM, AT(keep), 0, .decode = decode_keep },
	{ "db-max", J_U64, AT(db_max), 0, DB_MAX_LEAST, DB_MAX_MOST },
};

struct settings settings_init(void)
{
	CLEANUP(freep) char *state = paths_state();

	return (struct settings){
		.listen = xstrdup("127.0.0.1:9470"),
		.db = xasprintf("%s/assay.db", state),
		.cluster = CLUSTER_EMBEDDED,
		.kube.trust.for_us = TRUST_FOR_US,
		.mode = MODE_OBSERVE,
		.connections_max = API_CONNECTIONS_DEFAULT,
		.connections_per_peer = API_CONNECTIONS_PEER_DEFAULT,
		.nodes_max = NODES_DEFAULT,
		.report_rate = REPORT_RATE_DEFAULT,
		.report_burst = REPORT_BURST_DEFAULT,
		.keep = retention_init(),
		.collectives = settings_collectives_init(),
	};
}

void settings_release(struct settings *s)
{
	char **owned[] = { &s->read_from, &s->listen,	&s->db,	     &s->kubeconfig, &s->policy,
			   &s->tokens,	  &s->tls_cert, &s->tls_key, &s->client_ca };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(owned); i++) {
		free(*owned[i]);
		*owned[i] = NULL;
	}
	settings_kube_release(&s->kube);
	settings_collectives_release(&s->collectives);
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
		{ "insecure", s->insecure == fresh->insecure },
		{ "connections-max", s->connections_max == fresh->connections_max },
		{ "connections-per-peer", s->connections_per_peer == fresh->connections_per_peer },
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
	s->db_max = fresh->db_max;
	settings_collectives_release(&s->collectives);
	s->collectives = fresh->collectives;
	fresh->collectives = settings_collectives_init();
	return others;
}

static bool is_loopback(const char *listen)
{
	struct listen_address address;
	struct err ignored = ERR_INIT;

	return listen_address_read(listen, &address, &ignored) == 0 &&
	       listen_address_is_loopback(&address);
}

static bool names_users(const struct settings *s)
{
	return s->kube.trust.agents_told || s->kube.trust.n > 0;
}

bool settings_vouched(const struct settings *s)
{
	return s->cluster == CLUSTER_KUBERNETES || s->kubeconfig || names_users(s);
}

bool settings_open(const struct settings *s)
{
	bool vouched = settings_vouched(s) && (names_users(s) || !is_loopback(s->listen));

	return !s->tokens && !s->client_ca && !vouched;
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
			       "labels: are those of the nodes where cluster is kubernetes");
	if (!s->tls_cert != !s->tls_key)
		return err_set(err, EINVAL, "%s: is given without %s: they go together",
			       s->tls_cert ? "tls-cert" : "tls-key",
			       s->tls_cert ? "tls-key" : "tls-cert");
	if (s->client_ca && !s->tls_cert)
		return err_set(err, EINVAL, "client-ca: needs tls-cert and tls-key");
	if (!s->tls_cert && !is_loopback(s->listen) && !s->insecure)
		return err_set(err, EINVAL,
			       "listen: %s: others can read along: give tls-cert and tls-key, or "
			       "say insecure",
			       s->listen);
	if (settings_open(s) && !is_loopback(s->listen) && !s->insecure)
		return err_set(err, EINVAL,
			       "listen: %s: anybody could report: give tokens or client-ca, or say "
			       "insecure",
			       s->listen);
	return 0;
}
