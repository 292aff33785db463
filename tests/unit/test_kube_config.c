/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_config.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

/* "-----BEGIN CERTIFICATE-----\nx\n" and "-----BEGIN KEY-----\ny\n" */
#define CERT64 "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCngK"
#define KEY64 "LS0tLS1CRUdJTiBLRVktLS0tLQp5Cg=="

/* A kubeconfig of one context with these keys in it. */
static char *kubeconfig(const char *context, const char *cluster, const char *user)
{
	CLEANUP(freep)
	char *text = xasprintf("apiVersion: v1\nkind: Config\npreferences: {}\n"
			       "current-context: here\n"
			       "contexts:\n- name: other\n  context: {cluster: b, user: b}\n"
			       "- name: here\n  context: {cluster: c, user: u%s}\n"
			       "clusters:\n- name: c\n  cluster: {%s}\n"
			       "users:\n- name: u\n  user: {%s}\n",
			       context, cluster, user);

	return test_file("kube/config", text);
}

static int load(const char *context, const char *cluster, const char *user, struct kube_config *ret,
		struct err *err)
{
	CLEANUP(freep) char *path = kubeconfig(context, cluster, user);

	return kube_config_load(path, ret, err);
}

static void a_token_and_a_ca_are_read(void)
{
	struct kube_config config = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(load(", namespace: ours",
		      "server: 'https://10.0.0.1:6443//', certificate-authority: /ca.crt",
		      "token: a.b-c_d~e+f/g==", &config, &err),
		 0);
	CHECK_STR(err.msg, "");
	CHECK_STR(config.server, "https://10.0.0.1:6443");
	CHECK_STR(config.ca_file, "/ca.crt");
	CHECK_STR(config.token, "a.b-c_d~e+f/g==");
	CHECK_STR(config.namespace, "ours");
	CHECK(!config.ca_pem && !config.token_file && !config.cert_pem && !config.cert_file &&
	      !config.server_name && !config.insecure);
	kube_config_release(&config);
}

static void data_beats_a_file_and_a_token_file_a_token(void)
{
	struct kube_config config = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(load("",
		      "server: 'https://[::1]:6443/k8s/clusters/c-1', tls-server-name: kubernetes, "
		      "certificate-authority: no, certificate-authority-data: " CERT64,
		      "token: t, tokenFile: /t, client-certificate: no, client-key: no, "
		      "client-certificate-data: " CERT64 ", client-key-data: " KEY64,
		      &config, &err),
		 0);
	CHECK_STR(err.msg, "");
	CHECK_STR(config.server, "https://[::1]:6443/k8s/clusters/c-1");
	CHECK_STR(config.server_name, "kubernetes");
	CHECK_STR(config.ca_pem, "-----BEGIN CERTIFICATE-----\nx\n");
	CHECK_STR(config.cert_pem, "-----BEGIN CERTIFICATE-----\nx\n");
	CHECK_STR(config.key_pem, "-----BEGIN KEY-----\ny\n");
	CHECK_STR(config.token_file, "/t");
	CHECK_STR(config.namespace, "assay");
	CHECK(!config.ca_file && !config.token && !config.cert_file && !config.key_file);
	kube_config_release(&config);
}

static void paths_are_relative_to_the_kubeconfig(void)
{
	CLEANUP(freep) char *cert = xasprintf("%s/kube/pki/a.crt", test_dir());
	CLEANUP(freep) char *ca = xasprintf("%s/kube/../ca.crt", test_dir());
	CLEANUP(freep) char *token = xasprintf("%s/kube/token", test_dir());
	struct kube_config config = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(load("", "server: 'https://a', certificate-authority: ../ca.crt",
		      "tokenFile: token, client-certificate: pki/a.crt, client-key: /abs/a.key",
		      &config, &err),
		 0);
	CHECK_STR(config.ca_file, ca);
	CHECK_STR(config.token_file, token);
	CHECK_STR(config.cert_file, cert);
	CHECK_STR(config.key_file, "/abs/a.key");
	kube_config_release(&config);
}

static void what_is_empty_is_absent(void)
{
	struct kube_config config = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(load(", namespace: ''",
		      "server: 'http://127.0.0.1:8001', proxy-url: '', certificate-authority: ''",
		      "exec: null, as: '', as-groups: [], username: '', token: ''", &config, &err),
		 0);
	CHECK_STR(err.msg, "");
	CHECK_STR(config.namespace, "assay");
	CHECK(!config.token && !config.ca_file);
	kube_config_release(&config);
}

#define OK_CLUSTER "server: 'https://a'"
static const struct {
	const char *context, *cluster, *user, *words;
} refused[] = {
	{ "", OK_CLUSTER, "exec: {command: aws}",
	  "kube/config: users[0].user.exec: is not supported; put" },
	{ "", OK_CLUSTER, "exec: {command: aws}", "(kubectl create token NAME)" },
	{ "", OK_CLUSTER, "auth-provider: {name: gcp}",
	  "users[0].user.auth-provider: is not supported" },
	{ "", OK_CLUSTER, "username: a, password: b", "users[0].user.username: is not supported" },
	{ "", OK_CLUSTER, "as: admin, token: t", "users[0].user.as: is not supported" },
	{ "", OK_CLUSTER, "as-groups: [a]", "users[0].user.as-groups: is not supported" },
	{ "", OK_CLUSTER, "token: 123",
	  "users[0].user.token: expected a string, not a number: put it in quotes" },
	{ "", OK_CLUSTER, "token: \"a\\r\\nX: b\"", "users[0].user.token: is not a token" },
	{ "", OK_CLUSTER, "client-certificate: /a",
	  "client-certificate and client-key go together" },
	{ "", OK_CLUSTER, "client-certificate: /a, client-key-data: " KEY64, "go together, both" },
	{ "", OK_CLUSTER, "client-key-data: '!'", "users[0].user.client-key-data: is not base64" },
	{ "", OK_CLUSTER, "client-key-data: Zm9v", "client-key-data: expected PEM in base64" },
	{ "", "server: 'https://a', proxy-url: 'http://b'", "",
	  "clusters[0].cluster.proxy-url: proxies" },
	{ "", "", "", "clusters[0].cluster.server: expected the URL" },
	{ "", "server: a", "", "clusters[0].cluster.server: expected a URL such as" },
	{ "", "server: 'https://'", "", "expected a URL such as" },
	{ "", "server: 'https://u@a'", "", "expected a URL such as" },
	{ "", "server: 'https://a/?b'", "", "expected a URL such as" },
	{ "", "server: 'ftp://a'", "", "expected https://" },
	{ "", "server: 'http://10.0.0.1'", "",
	  "expected https://: over http anyone could read the token" },
	{ "", "server: 'http://127.0.0.1.example'", "", "expected https://" },
	{ "", "server: 'https://a', insecure-skip-tls-verify: true, certificate-authority: /a", "",
	  "insecure-skip-tls-verify: conflicts with certificate-authority" },
	{ "", "server: 'https://a', insecure-skip-tls-verify: yes", "", "expected true or false" },
	{ ", namespace: A_b", OK_CLUSTER, "", "contexts[1].context.namespace: is not a valid" },
};

static void what_is_not_taken_is_refused_at_its_place(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		struct kube_config config = { .server = NULL };
		struct err err = ERR_INIT;

		CHECK_EQ(load(refused[i].context, refused[i].cluster, refused[i].user, &config,
			      &err),
			 -EINVAL);
		CHECK_HAS(err.msg, refused[i].words);
		CHECK(!config.server);
	}
}

static const struct {
	const char *text, *words;
} broken[] = {
	{ "", "empty" },
	{ "[]", "expected an object" },
	{ "a: b", "current-context: expected a name of contexts" },
	{ "current-context: 7", "current-context: expected a name of contexts" },
	{ "current-context: a", "contexts: expected a list, not nothing" },
	{ "current-context: a\ncontexts: [{name: b}, c, 1]",
	  "current-context: there is no 'a' among contexts" },
	{ "current-context: a\ncontexts: [{name: a}]", "contexts[0].context: expected an object" },
	{ "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\nclusters: []",
	  "contexts[0].context.cluster: there is no 'c' among clusters" },
	{ "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n"
	  "clusters: [{name: c, cluster: {server: 'https://a'}}]",
	  "contexts[0].context.user: expected a name of users" },
	{ "current-context: a\nb", "line 3" },
};

static void a_kubeconfig_that_is_none_is_refused_at_its_place(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(broken); i++) {
		CLEANUP(freep) char *path = test_file("broken", broken[i].text);
		struct kube_config config = { .server = NULL };
		struct err err = ERR_INIT;

		CHECK_EQ(kube_config_load(path, &config, &err), -EINVAL);
		CHECK_HAS(err.msg, path);
		CHECK_HAS(err.msg, broken[i].words);
		CHECK(!config.server);
	}
}

static void a_kubeconfig_that_is_not_there_is_named(void)
{
	struct kube_config config = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(kube_config_load("/nowhere/config", &config, &err), -EINVAL);
	CHECK_HAS(err.msg, "/nowhere/config");
}

static void a_pod_knows_by_its_environment_and_files(void)
{
	CLEANUP(freep) char *file = test_file("pod/namespace", "gpu-care\n");
	CLEANUP(freep) char *dir = xasprintf("%s/pod", test_dir());
	CLEANUP(freep) char *token = xasprintf("%s/token", dir);
	CLEANUP(freep) char *ca = xasprintf("%s/ca.crt", dir);
	struct kube_config config = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(kube_config_of_pod("10.0.0.1", "443", dir, &config, &err), 0);
	CHECK_STR(config.server, "https://10.0.0.1:443");
	CHECK_STR(config.token_file, token);
	CHECK_STR(config.ca_file, ca);
	CHECK_STR(config.namespace, "gpu-care");
	kube_config_release(&config);
	CHECK_EQ(kube_config_of_pod("fd00::1", "6443", "/nowhere", &config, &err), 0);
	CHECK_STR(config.server, "https://[fd00::1]:6443");
	CHECK_STR(config.namespace, "assay");
	kube_config_release(&config);
}

static void what_is_no_pod_is_told_of_the_option(void)
{
	struct kube_config config = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(kube_config_of_pod(NULL, "443", "/nowhere", &config, &err), -EINVAL);
	CHECK_HAS(err.msg, "--kubeconfig FILE");
	CHECK_EQ(kube_config_of_pod("a", "", "/nowhere", &config, &err), -EINVAL);
	CHECK(!config.server);
}

static const struct test tests[] = {
	TEST(a_token_and_a_ca_are_read),
	TEST(data_beats_a_file_and_a_token_file_a_token),
	TEST(paths_are_relative_to_the_kubeconfig),
	TEST(what_is_empty_is_absent),
	TEST(what_is_not_taken_is_refused_at_its_place),
	TEST(a_kubeconfig_that_is_none_is_refused_at_its_place),
	TEST(a_kubeconfig_that_is_not_there_is_named),
	TEST(a_pod_knows_by_its_environment_and_files),
	TEST(what_is_no_pod_is_told_of_the_option),
};

TEST_SUITE(tests);
