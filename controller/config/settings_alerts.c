/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/config/settings_alerts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/jsome.h"
#include "lib/json/json.h"
#include "lib/net/token_file.h"
#include "lib/net/url.h"
#include "lib/sys/file.h"

enum { CACERT_MAX = 1024 * 1024 };

/* Characters of a URL after its scheme; it appears in logs and metrics. */
static const char url_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				  "0123456789-._~:/[]%";

int settings_alerts_decode_url(const struct jval *v, void *member, struct err *err)
{
	const char *text = json_string_value(v->value), *host;
	size_t length = text ? strlen(text) : 0;

	if (!text || length > ALERTMANAGER_URL_MAX ||
	    !(starts_with(text, "http://") || starts_with(text, "https://")))
		return jval_fail(v, err,
				 "expected an address such as http://HOST:PORT or https://HOST");
	host = strstr(text, "://") + strlen("://");
	if (strchr(host, '@'))
		return jval_fail(v, err,
				 "everyone who sees the address would see the password in it: use "
				 "basic-auth-file");
	if (!*host || *host == '/' || *host == ':' || host[strspn(host, url_letters)])
		return jval_fail(v, err, "expected a host, followed by at most a port and a path");
	while (length > 0 && text[length - 1] == '/')
		length--;
	free(*(char **)member);
	*(char **)member = xstrndup(text, length);
	return 0;
}

#define AT(member) offsetof(struct settings_alertmanager, member)

static const struct jfield fields[] = {
	{ "url", J_CUSTOM, AT(url), J_REQUIRED, .decode = settings_alerts_decode_url },
	{ "token-file", J_CUSTOM, AT(token_file), 0, .decode = jsome_text },
	{ "basic-auth-file", J_CUSTOM, AT(basic_auth_file), 0, .decode = jsome_text },
	{ "cacert", J_CUSTOM, AT(cacert), 0, .decode = jsome_text },
};

static void release_one(struct settings_alertmanager *one)
{
	free(one->url);
	free(one->token_file);
	free(one->basic_auth_file);
	free(one->cacert);
	*one = (struct settings_alertmanager){ .url = NULL };
}

static int check_one(const struct jval *v, const struct settings_alertmanager *one, struct err *err)
{
	if (one->token_file && one->basic_auth_file)
		return jval_fail(v, err, "expected token-file or basic-auth-file, not both");
	if ((one->token_file || one->basic_auth_file) && url_is_open(one->url))
		return jval_fail(v, err, "%s would be sent unencrypted: use https",
				 one->token_file ? "the token" : "the password");
	if (one->cacert && !starts_with(one->url, "https://"))
		return jval_fail(v, err, "cacert: only for an https address");
	return 0;
}

static int decode_one(const struct jval *v, struct settings_alerts *alerts, struct err *err)
{
	struct settings_alertmanager *one = &alerts->of[alerts->n++];
	size_t i;
	int r = jval_decode(v, fields, ARRAY_SIZE(fields), JVAL_STRICT, one, err);

	if (r == 0)
		r = check_one(v, one, err);
	for (i = 0; r == 0 && i + 1 < alerts->n; i++) {
		if (streq(alerts->of[i].url, one->url))
			r = jval_fail(v, err, "url: %s is listed twice", one->url);
	}
	return r;
}

int settings_alerts_decode(const struct jval *v, void *member, struct err *err)
{
	struct settings_alerts *alerts = member;
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r == 0 && n > ALERTMANAGERS_MAX)
		r = jval_fail(v, err, "%zu entries, more than %d", n, ALERTMANAGERS_MAX);
	settings_alerts_release(alerts);
	for (i = 0; r == 0 && i < n; i++) {
		const struct jval item = jval_at(v, i);

		r = decode_one(&item, alerts, err);
	}
	return r;
}

void settings_alerts_release(struct settings_alerts *alerts)
{
	size_t i;

	for (i = 0; i < alerts->n; i++)
		release_one(&alerts->of[i]);
	alerts->n = 0;
}

bool settings_alerts_same(const struct settings_alerts *a, const struct settings_alerts *b)
{
	bool same = a->n == b->n;
	size_t i;

	for (i = 0; same && i < a->n; i++)
		same = streq(a->of[i].url, b->of[i].url) &&
		       streq(a->of[i].token_file, b->of[i].token_file) &&
		       streq(a->of[i].basic_auth_file, b->of[i].basic_auth_file) &&
		       streq(a->of[i].cacert, b->of[i].cacert);
	return same;
}

/* --- files --- */

int settings_alerts_read_password(const char *path, char **ret, struct err *err)
{
	CLEANUP(freep) char *line = NULL;
	size_t length = 0;
	int r = file_read(AT_FDCWD, path, ALERTMANAGER_FILE_MAX, &line, &length, err);

	if (r < 0)
		return r;
	while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
		line[--length] = '\0';
	if (strlen(line) != length || strpbrk(line, "\r\n") || line[0] == ':' || !strchr(line, ':'))
		return err_set(err, EINVAL, "%s: expected one line, NAME:PASSWORD", path);
	*ret = TAKE(line);
	return 0;
}

static int check_files(const struct settings_alertmanager *one, struct err *err)
{
	CLEANUP(freep) char *password = NULL, *ca = NULL;
	struct token_file token = { .path = one->token_file };
	int r = 0;

	/* As the HTTP client reads it. */
	if (one->token_file)
		r = token_file_refresh(&token, err);
	token.path = NULL; /* owned by the settings */
	token_file_release(&token);
	if (r == 0 && one->basic_auth_file)
		r = settings_alerts_read_password(one->basic_auth_file, &password, err);
	if (r == 0 && one->cacert)
		r = file_read(AT_FDCWD, one->cacert, CACERT_MAX, &ca, NULL, err);
	if (r == 0 && ca && !strstr(ca, "-----BEGIN CERTIFICATE-----"))
		r = err_set(err, EINVAL, "%s: has no certificate (PEM)", one->cacert);
	return r;
}

int settings_alerts_check(const struct settings_alerts *alerts, struct err *err)
{
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < alerts->n; i++) {
		r = check_files(&alerts->of[i], err);
		if (r < 0)
			(void)err_wrap(err, r, "alertmanagers[%zu]", i);
	}
	return r;
}
