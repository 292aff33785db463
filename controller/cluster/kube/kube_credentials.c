/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_config.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

/* --- token --- */

/* Returns 0, or negative with `header` unchanged. */
static int read_token(struct kube_credentials *c, bool at_once, uint64_t now_us, struct err *err)
{
	int r;

	if (at_once || now_us - c->token_us >= KUBE_CREDENTIALS_US) {
		token_file_forget(&c->token);
		c->token_us = now_us;
	}
	r = token_file_refresh(&c->token, err);
	if (r == 0)
		c->complained = false;
	return r;
}

const char *kube_credentials_header(struct kube_credentials *c, uint64_t now_us)
{
	struct err err = ERR_INIT;

	if (!c->token.path)
		return c->header;
	if (read_token(c, false, now_us, &err) < 0 && !c->complained) {
		log_warning("%s; still using the old one", err.msg);
		c->complained = true;
	}
	return c->token.header;
}

bool kube_credentials_refused(struct kube_credentials *c, uint64_t now_us)
{
	return c->token.path && read_token(c, true, now_us, NULL) == 0;
}

/* --- CA --- */

static int read_ca(const char *path, char **ret_pem, struct err *err)
{
	CLEANUP(freep) char *pem = NULL;
	size_t len;
	int r = file_read(AT_FDCWD, path, KUBE_CA_MAX, &pem, &len, err);

	if (r < 0)
		return r;
	if (strlen(pem) != len || !strstr(pem, "-----BEGIN CERTIFICATE-----"))
		return err_set(err, EINVAL, "%s: expected certificates in PEM", path);
	*ret_pem = TAKE(pem);
	return 0;
}

bool kube_credentials_ca(struct kube_credentials *c, bool at_once, uint64_t now_us)
{
	CLEANUP(freep) char *pem = NULL;

	if (!c->ca_file || (!at_once && now_us - c->ca_us < KUBE_CREDENTIALS_US))
		return false;
	c->ca_us = now_us;
	/* If unreadable, it is being replaced, or else the handshake will fail with a reason. */
	if (read_ca(c->ca_file, &pem, NULL) < 0 || streq(pem, c->ca_pem))
		return false;
	free(c->ca_pem);
	c->ca_pem = TAKE(pem);
	return true;
}

/* --- both --- */

void kube_credentials_release(struct kube_credentials *c)
{
	token_file_release(&c->token);
	free(c->header);
	free(c->ca_file);
	free(c->ca_pem);
	*c = (struct kube_credentials){ 0 };
}

int kube_credentials_init(struct kube_credentials *c, const struct kube_config *config,
			  uint64_t now_us, struct err *err)
{
	int r = 0;

	*c = (struct kube_credentials){
		.token = { .path = xstrdup(config->token_file) },
		.header = config->token ? xasprintf("Authorization: Bearer %s", config->token)
					: NULL,
		.ca_file = xstrdup(config->ca_file),
		.ca_pem = xstrdup(config->ca_pem),
		.ca_us = now_us,
	};
	if (c->token.path)
		r = read_token(c, true, now_us, err);
	if (r == 0 && c->ca_file)
		r = read_ca(c->ca_file, &c->ca_pem, err);
	if (r < 0)
		kube_credentials_release(c);
	return r;
}
