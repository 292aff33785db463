/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/assayd_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "agents/assayd/assayd_config.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/net/http.h"
#include "lib/net/http_once.h"
#include "lib/net/url.h"

enum { ANSWER_MAX = 64 * 1024 };

/* The sentence for an answer, or an error if the problem is on our side. */
static int judge(const struct assayd_config *c, const struct http_once *answer,
		 struct err *ret_said, struct err *err)
{
	CLEANUP(freep) char *detail = NULL;

	if (answer->r == -EKEYREJECTED || answer->r == -EINVAL)
		return err_set(err, -answer->r, "%s", answer->why);
	if (answer->r < 0) {
		(void)err_set(
			ret_said, -answer->r,
			"could not ask the controller whether it accepts reports from '%s': %s",
			c->node, answer->why);
		return 0;
	}
	detail = http_once_detail(answer);
	switch (answer->status) {
	case 200:
	case 204:
	case 400:
		(void)err_set(ret_said, EAGAIN, "%s accepts reports from '%s'", c->controller,
			      c->node);
		return 0;
	case 401:
	case 403:
		return err_set(
			err, EACCES,
			"%s: %u: it refuses reports from '%s': %.300s: check node, token_file "
			"and cert here, and the controller's tokens",
			c->controller, answer->status, c->node,
			detail ? detail : "it does not say why");
	default:
		(void)err_set(
			ret_said, EAGAIN,
			"%s does not say whether it accepts reports from '%s': it answered %u",
			c->controller, c->node, answer->status);
		return 0;
	}
}

void assayd_warn(const struct assayd_config *config)
{
	const bool in_pod = secure_getenv("KUBERNETES_SERVICE_HOST") != NULL;
	struct stat st;

	if (!config->token_file)
		return;
	/* A pod's files are in its own mount, and readable by everything in the pod. */
	if (!in_pod && stat(config->token_file, &st) == 0 && (st.st_mode & S_IROTH))
		log_warning("%s: readable by everyone on this host: chmod 640", config->token_file);
	if (url_is_open(config->controller))
		log_warning("%s: the token is sent unencrypted: use https", config->controller);
}

void assayd_check_environment(const struct assayd_config *config)
{
	const struct {
		const char *key, *variable, *value;
		bool set;
	} rows[] = {
		{ "controller", "ASSAY_CONTROLLER", config->controller, config->controller_set },
		{ "node", "ASSAY_NODE", config->node, config->node_set },
		{ "token_file", "ASSAY_TOKEN_FILE", config->token_file, config->token_set },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].set)
			(void)fprintf(stderr, "%s: %s, from the environment (%s)\n", rows[i].key,
				      rows[i].value, rows[i].variable);
	}
}

int assayd_check(const struct assayd_config *config, struct err *ret_said, struct err *err)
{
	const struct http_options options = {
		.ca_file = config->ca,
		.cert_file = config->cert,
		.key_file = config->key,
		.token_file = config->token_file,
		.user_agent = "assayd/" PACKAGE_VERSION,
	};
	CLEANUP(http_once_release) struct http_once answer = { 0 };
	CLEANUP(freep)
	char *url = xasprintf("%s/v1/nodes/%s/orders?wait=none", config->controller, config->node);
	const struct http_call call = {
		.method = "GET",
		.url = url,
		.timeout_us = ASSAYD_CHECK_TIMEOUT_US,
		.answer_max = ANSWER_MAX,
	};
	int r = http_once(&options, &call, &answer, err);

	return r < 0 ? r : judge(config, &answer, ret_said, err);
}
