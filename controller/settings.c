/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/settings.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/api.h"
#include "lib/err.h"
#include "lib/json.h"
#include "lib/judge/policy.h"
#include "lib/paths.h"
#include "lib/xalloc.h"

enum {
	NODES_DEFAULT = 20000,
	NODES_MOST = 1000000,
	CONNECTIONS_MOST = 500000,
	/* Two days of a spool come at once; then one report every few minutes. */
	REPORT_RATE_DEFAULT = 5,
	REPORT_BURST_DEFAULT = 1000,
	REPORT_RATE_MOST = 100000,
};

const char *const cluster_names[] = { "embedded", "kubernetes", NULL };

static int decode_version(const struct jval *v, void *member UNUSED, struct err *err)
{
	return json_is_integer(v->value) && json_integer_value(v->value) == 1
		       ? 0
		       : jval_fail(v, err, "want 1: this program reads version 1 only");
}

struct document {
	struct settings settings;
};

#define AT(member) offsetof(struct document, settings.member)

static const struct jfield fields[] = {
	{ "v", J_CUSTOM, 0, J_REQUIRED, .decode = decode_version },
	{ "listen", J_STRING, AT(listen), 0 },
	{ "db", J_STRING, AT(db), 0 },
	{ "cluster", J_ENUM, AT(cluster), 0, .names = cluster_names },
	{ "kubeconfig", J_STRING, AT(kubeconfig), 0 },
	{ "mode", J_ENUM, AT(mode), 0, .names = policy_mode_names },
	{ "policy", J_STRING, AT(policy), 0 },
	{ "tokens", J_STRING, AT(tokens), 0 },
	{ "tls-cert", J_STRING, AT(tls_cert), 0 },
	{ "tls-key", J_STRING, AT(tls_key), 0 },
	{ "client-ca", J_STRING, AT(client_ca), 0 },
	{ "insecure", J_BOOL, AT(insecure), 0 },
	{ "connections-max", J_U64, AT(connections_max), 0, 1, CONNECTIONS_MOST },
	{ "nodes-max", J_U64, AT(nodes_max), 0, 1, NODES_MOST },
	{ "report-rate", J_U64, AT(report_rate), 0, 1, REPORT_RATE_MOST },
	{ "report-burst", J_U64, AT(report_burst), 0, 1, REPORT_RATE_MOST },
};

struct settings settings_init(void)
{
	CLEANUP(freep) char *state = paths_state();

	return (struct settings){
		.listen = xstrdup("127.0.0.1:9470"),
		.db = xasprintf("%s/assay.db", state),
		.cluster = CLUSTER_EMBEDDED,
		.mode = MODE_OBSERVE,
		.connections_max = API_CONNECTIONS_DEFAULT,
		.nodes_max = NODES_DEFAULT,
		.report_rate = REPORT_RATE_DEFAULT,
		.report_burst = REPORT_BURST_DEFAULT,
	};
}

void settings_release(struct settings *s)
{
	char **owned[] = { &s->listen, &s->db,	     &s->kubeconfig, &s->policy,
			   &s->tokens, &s->tls_cert, &s->tls_key,    &s->client_ca };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(owned); i++) {
		free(*owned[i]);
		*owned[i] = NULL;
	}
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
	return r;
}

static bool is_loopback(const char *listen)
{
	return starts_with(listen, "127.") || starts_with(listen, "[::1]:");
}

int settings_check(const struct settings *s, struct err *err)
{
	if (!s->listen || !s->db)
		return err_set(err, EINVAL, "listen and db must not be empty");
	if (s->cluster != CLUSTER_EMBEDDED)
		return err_set(err, EINVAL, "cluster: %s: not built yet", cluster_names[s->cluster]);
	if (s->mode != MODE_OBSERVE)
		return err_set(err, EINVAL, "mode: %s: not built yet", policy_mode_names[s->mode]);
	if (!s->tls_cert != !s->tls_key)
		return err_set(err, EINVAL, "tls-cert and tls-key go together");
	if (s->client_ca && !s->tls_cert)
		return err_set(err, EINVAL, "client-ca: needs tls-cert and tls-key");
	if (!s->tls_cert && !is_loopback(s->listen) && !s->insecure)
		return err_set(err, EINVAL,
			       "listen: %s: others can read along: give tls-cert and tls-key, or "
			       "say insecure",
			       s->listen);
	if (!s->tokens && !s->client_ca && !is_loopback(s->listen) && !s->insecure)
		return err_set(err, EINVAL,
			       "listen: %s: anybody could report: give tokens or client-ca, or say "
			       "insecure",
			       s->listen);
	return 0;
}
