/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "controller/cluster/kube/kube.h"
#include "lib/base/base64.h"
#include "lib/base/err.h"
#include "lib/base/subdomain.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/net/url.h"
#include "lib/sys/file.h"

#define POD_FILES "/var/run/secrets/kubernetes.io/serviceaccount"
#define OUR_NAMESPACE "assay"

/* RFC 6750 2.1: characters allowed in the header. */
static const char b64token[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			       "0123456789-._~+/=";

/* Keys that are not supported, and the alternative. */
#define USE_TOKEN                                                                       \
	"is not supported; put the token of a service account into token or tokenFile " \
	"(kubectl create token NAME)"
static const struct refusal {
	const char *key, *words;
} user_refusals[] = {
	{ "exec", USE_TOKEN },	       { "auth-provider", USE_TOKEN },	{ "username", USE_TOKEN },
	{ "password", USE_TOKEN },     { "as", USE_TOKEN },		{ "as-uid", USE_TOKEN },
	{ "as-groups", USE_TOKEN },    { "as-user-extra", USE_TOKEN },
}, cluster_refusals[] = {
	{ "proxy-url", "proxies are not supported: give a server address that needs none" },
};

/* An entry in a list of {name, ...}; borrows from the parent, so that errors have its path. */
struct entry {
	struct jval list, item, value;
};

/* --- values --- */

/* Absent, null and "" are equivalent in kubectl. */
static bool is_empty(const struct jval *v)
{
	const char *text = json_string_value(v->value);

	return !v->value || json_is_null(v->value) || (text && !*text) || json_is_false(v->value) ||
	       (json_is_array(v->value) && json_array_size(v->value) == 0) ||
	       (json_is_object(v->value) && json_object_size(v->value) == 0);
}

static int text_of(const struct jval *object, const char *key, char **ret, struct err *err)
{
	const struct jval v = jval_get(object, key);

	if (is_empty(&v))
		return 0;
	if (!json_is_string(v.value))
		return jval_fail(&v, err, "expected a string, not %s: put it in quotes",
				 jval_type_name(&v));
	free(*ret);
	*ret = xstrdup(json_string_value(v.value));
	return 0;
}

/* Paths are relative to the directory of the kubeconfig. */
static int path_of(const struct jval *object, const char *key, char **ret, struct err *err)
{
	CLEANUP(freep) char *path = NULL;
	const char *slash = strrchr(object->file, '/');
	int r = text_of(object, key, &path, err);

	if (r < 0 || !path)
		return r;
	if (path[0] == '/' || !slash)
		*ret = TAKE(path);
	else
		*ret = xasprintf("%.*s/%s", (int)(slash - object->file), object->file, path);
	return 0;
}

static int pem_of(const struct jval *object, const char *key, char **ret, struct err *err)
{
	CLEANUP(freep) char *text = NULL, *pem = NULL;
	const struct jval v = jval_get(object, key);
	size_t len;
	int r = text_of(object, key, &text, err);

	if (r < 0 || !text)
		return r;
	if (base64_decode(text, &pem, &len) < 0)
		return jval_fail(&v, err, "is not base64");
	if (strlen(pem) != len || !strstr(pem, "-----BEGIN "))
		return jval_fail(&v, err, "expected PEM in base64");
	*ret = TAKE(pem);
	return 0;
}

/* `key`-data, or else `key` as the path of a file. */
static int pem_or_path(const struct jval *object, const char *key, char **ret_pem, char **ret_path,
		       struct err *err)
{
	CLEANUP(freep) char *data_key = xasprintf("%s-data", key);
	int r = pem_of(object, data_key, ret_pem, err);

	return r < 0 || *ret_pem ? r : path_of(object, key, ret_path, err);
}

static int refuse(const struct jval *object, const struct refusal *refusals, size_t n,
		  struct err *err)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const struct jval v = jval_get(object, refusals[i].key);

		if (!is_empty(&v))
			return jval_fail(&v, err, "%s", refusals[i].words);
	}
	return 0;
}

/* --- parts of a kubeconfig --- */

/* The `member` of the first entry of `list` with the name given by `who`. */
static int find(const struct jval *root, const char *list, const char *member,
		const struct jval *who, struct entry *ret, struct err *err)
{
	const char *name = json_string_value(who->value);
	size_t i;
	int r;

	if (!name || !*name)
		return jval_fail(who, err, "expected a name of %s", list);
	ret->list = jval_get(root, list);
	r = jval_need_array(&ret->list, err);
	for (i = 0; r == 0 && i < json_array_size(ret->list.value); i++) {
		ret->item = jval_at(&ret->list, i);
		if (!streq(json_string_value(json_object_get(ret->item.value, "name")), name))
			continue;
		ret->value = jval_get(&ret->item, member);
		return jval_need_object(&ret->value, err);
	}
	return r < 0 ? r : jval_fail(who, err, "there is no '%s' among %s", name, list);
}

static int read_server(const struct jval *cluster, struct kube_config *config, struct err *err)
{
	const struct jval v = jval_get(cluster, "server");
	const char *rest;
	size_t len;
	int r = text_of(cluster, "server", &config->server, err);

	if (r < 0)
		return r;
	if (!config->server)
		return jval_fail(&v, err, "expected the URL of the API server");
	for (len = strlen(config->server); len && config->server[len - 1] == '/'; len--)
		config->server[len - 1] = '\0';
	rest = strstr(config->server, "://");
	if (!rest || !rest[3] || config->server[strcspn(config->server, " \t\r\n?#@")])
		return jval_fail(&v, err, "expected a URL such as https://10.0.0.1:6443");
	if (starts_with(config->server, "https://") ||
	    (starts_with(config->server, "http://") && !url_is_open(config->server)))
		return 0;
	return jval_fail(&v, err, "expected https://: over http anyone could read the token");
}

static int read_cluster(const struct jval *cluster, struct kube_config *config, struct err *err)
{
	const struct jval insecure = jval_get(cluster, "insecure-skip-tls-verify");
	int r = refuse(cluster, cluster_refusals, ARRAY_SIZE(cluster_refusals), err);

	if (r == 0)
		r = read_server(cluster, config, err);
	if (r == 0)
		r = text_of(cluster, "tls-server-name", &config->server_name, err);
	if (r == 0)
		r = pem_or_path(cluster, "certificate-authority", &config->ca_pem, &config->ca_file,
				err);
	if (r < 0)
		return r;
	config->insecure = json_is_true(insecure.value);
	if (insecure.value && !json_is_boolean(insecure.value))
		return jval_fail(&insecure, err, "expected true or false");
	if (config->insecure && (config->ca_pem || config->ca_file))
		return jval_fail(&insecure, err,
				 "conflicts with certificate-authority: give one of the two");
	return 0;
}

static int read_token(const struct jval *user, struct kube_config *config, struct err *err)
{
	const struct jval v = jval_get(user, "token");
	int r = path_of(user, "tokenFile", &config->token_file, err);

	if (r < 0 || config->token_file)
		return r;
	r = text_of(user, "token", &config->token, err);
	if (r == 0 && config->token && config->token[strspn(config->token, b64token)])
		return jval_fail(&v, err, "is not a token: it has characters that no token has");
	return r;
}

static int read_user(const struct jval *user, struct kube_config *config, struct err *err)
{
	int r = refuse(user, user_refusals, ARRAY_SIZE(user_refusals), err);

	if (r == 0)
		r = read_token(user, config, err);
	if (r == 0)
		r = pem_or_path(user, "client-certificate", &config->cert_pem, &config->cert_file,
				err);
	if (r == 0)
		r = pem_or_path(user, "client-key", &config->key_pem, &config->key_file, err);
	if (r < 0)
		return r;
	if (!config->cert_pem != !config->key_pem || !config->cert_file != !config->key_file)
		return jval_fail(user, err,
				 "client-certificate and client-key go together, both as files or "
				 "both as -data");
	return 0;
}

static int read_namespace(const struct jval *context, struct kube_config *config, struct err *err)
{
	const struct jval v = jval_get(context, "namespace");
	int r = text_of(context, "namespace", &config->namespace, err);

	if (r < 0)
		return r;
	if (!config->namespace)
		config->namespace = xstrdup(OUR_NAMESPACE);
	return is_subdomain(config->namespace) ? 0 : jval_fail(&v, err, "is not a valid namespace");
}

static int read_kubeconfig(const struct jval *root, struct kube_config *config, struct err *err)
{
	const struct jval current = jval_get(root, "current-context");
	struct entry context, cluster, user;
	struct jval cluster_name, user_name;
	int r = jval_need_object(root, err);

	if (r == 0)
		r = find(root, "contexts", "context", &current, &context, err);
	if (r < 0)
		return r;
	cluster_name = jval_get(&context.value, "cluster");
	user_name = jval_get(&context.value, "user");
	r = read_namespace(&context.value, config, err);
	if (r == 0)
		r = find(root, "clusters", "cluster", &cluster_name, &cluster, err);
	if (r == 0)
		r = read_cluster(&cluster.value, config, err);
	if (r == 0)
		r = find(root, "users", "user", &user_name, &user, err);
	return r < 0 ? r : read_user(&user.value, config, err);
}

static int load_file(const char *path, struct kube_config *config, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;
	int r = yaml_read_file(path, &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, path);
	return read_kubeconfig(&root, config, err);
}

/* --- the pod we run in --- */

int kube_config_of_pod(const char *host, const char *port, const char *dir, struct kube_config *ret,
		       struct err *err)
{
	CLEANUP(freep) char *namespace_file = xasprintf("%s/namespace", dir);
	CLEANUP(freep) char *namespace = NULL;
	const bool is_ipv6 = host && strchr(host, ':');

	if (!host || !*host || !port || !*port)
		return err_set(err, EINVAL,
			       "not in a pod (KUBERNETES_SERVICE_HOST and _PORT are not set): give "
			       "--kubeconfig FILE");
	if (file_read_line(AT_FDCWD, namespace_file, &namespace) < 0)
	namespace = xstrdup(OUR_NAMESPACE);
	if (!is_subdomain(namespace))
		return err_set(err, EINVAL, "%s: is not a valid namespace", namespace_file);
	*ret = (struct kube_config){
		.server = xasprintf(is_ipv6 ? "https://[%s]:%s" : "https://%s:%s", host, port),
		.ca_file = xasprintf("%s/ca.crt", dir),
		.token_file = xasprintf("%s/token", dir),
		.namespace = TAKE(namespace),
	};
	return 0;
}

/* --- both --- */

void kube_config_release(struct kube_config *config)
{
	char **const owned[] = { &config->server,   &config->server_name, &config->ca_file,
				 &config->ca_pem,   &config->cert_file,	  &config->key_file,
				 &config->cert_pem, &config->key_pem,	  &config->token_file,
				 &config->token,    &config->namespace,	  &config->prefix };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(owned); i++)
		free(*owned[i]);
	*config = (struct kube_config){ 0 };
}

int kube_config_load(const char *kubeconfig, struct kube_config *ret, struct err *err)
{
	struct kube_config config = { 0 };
	int r = kubeconfig ? load_file(kubeconfig, &config, err)
			   : kube_config_of_pod(secure_getenv("KUBERNETES_SERVICE_HOST"),
						secure_getenv("KUBERNETES_SERVICE_PORT"), POD_FILES,
						&config, err);

	if (r < 0)
		kube_config_release(&config);
	else
		*ret = config;
	return r < 0 ? -EINVAL : 0;
}
