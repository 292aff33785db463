/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/link_words.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <strings.h>

#include "cli/command.h"
#include "cli/link.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/net/http.h"

enum { DETAIL_MAX = 400, URL_MOST = 1024 };

static const struct {
	int r;
	const char *advice;
} advices[] = {
	{ -ECONNREFUSED, "is it running? set --controller or ASSAY_CONTROLLER" },
	{ -EHOSTUNREACH, "check --controller or ASSAY_CONTROLLER" },
	{ -ENETUNREACH, "check --controller or ASSAY_CONTROLLER" },
	{ -ETIMEDOUT, "try again, or allow more time with --timeout" },
	{ -ECONNRESET,
	  "did it stop, or does it expect https? check --controller or ASSAY_CONTROLLER" },
	{ -EKEYREJECTED, "name the CA to trust with --cacert or ASSAY_CACERT" },
	{ -EPROTO, "is it http or https, and the right port?" },
	{ -EFBIG, "ask for less" },
	{ -EINVAL, "check --controller and --cacert, or ASSAY_CONTROLLER and ASSAY_CACERT" },
};

static int not_answered(const struct http_answer *answer, struct err *err)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(advices) && advices[i].r != answer->r; i++)
		;
	if (i == ARRAY_SIZE(advices))
		return err_set(err, -answer->r, "%s", answer->why);
	return err_set(err, -answer->r, "%s; %s", answer->why, advices[i].advice);
}

/* The `detail` of a problem, or a substitute. The caller frees it. */
static char *detail_of(const struct http_answer *answer)
{
	CLEANUP(json_freep) json_t *problem = NULL;
	const char *detail = NULL;

	if (json_parse(answer->body, answer->len, "answer", &problem, NULL) == 0)
		detail = json_string_value(json_object_get(problem, "detail"));
	return xstrndup(detail ? detail : "no details given", DETAIL_MAX);
}

static int refused(const struct http_answer *answer, struct err *err)
{
	CLEANUP(freep) char *detail = detail_of(answer);
	unsigned long long wait_s = answer->retry_after_us / 1000000;

	switch (answer->status) {
	case 401:
		return err_set(err, EACCES,
			       "unauthorized: %s; --token-file or ASSAY_TOKEN_FILE names a token",
			       detail);
	case 403:
		return err_set(err, EACCES,
			       "forbidden: %s; --token-file or ASSAY_TOKEN_FILE names another",
			       detail);
	case 404:
		return err_set(err, ENOENT, "%s", detail);
	case 409:
		return err_set(err, EPERM, "%s", detail);
	case 400:
	case 413:
	case 422:
		return err_set(err, EINVAL, "%s", detail);
	case 429:
	case 503:
		return err_set(err, EAGAIN,
			       "the controller cannot answer now (%s); try again in %llu s", detail,
			       wait_s ? wait_s : 1);
	default:
		return err_set(err, EBADMSG,
			       "the controller answered with status %u (%s); "
			       "see its log",
			       answer->status, detail);
	}
}

int link_words_answer(const struct http_answer *answer, json_t **ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct err inner = ERR_INIT;

	if (answer->r < 0)
		return not_answered(answer, err);
	if (answer->status != 200 && answer->status != 202)
		return refused(answer, err);
	if (json_parse(answer->body, answer->len, "the answer", &value, &inner) < 0)
		return err_set(err, EBADMSG, "%s; is this a controller?", inner.msg);
	if (!json_is_object(value))
		return err_set(err, EBADMSG, "the answer is not an object; is this a controller?");
	*ret = TAKE(value);
	return 0;
}

void link_words_rule(const struct http_answer *answer, char ret[static LINK_RULE_SIZE])
{
	CLEANUP(json_freep) json_t *problem = NULL;
	const char *rule = NULL;

	if (json_parse(answer->body, answer->len, "answer", &problem, NULL) == 0)
		rule = json_string_value(json_object_get(problem, "rule"));
	(void)snprintf(ret, LINK_RULE_SIZE, "%s", rule ? rule : "");
}

int link_words_base(const char *url, char **ret_base, struct err *err)
{
	const char *host = starts_with(url, "http://") ? url + 7 : NULL;
	size_t length;

	if (starts_with(url, "https://"))
		host = url + 8;
	if (!host || !*host || *host == '/' || strlen(url) > URL_MOST)
		return err_set(err, EINVAL,
			       "--controller: '%.80s' is not a URL like "
			       "https://controller:9470",
			       url);
	length = strcspn(host, "/?#");
	if (host[length] && !streq(host + length, "/"))
		return err_set(err, EINVAL, "--controller: '%.80s': nothing may follow the port",
			       url);
	*ret_base = xstrndup(url, (size_t)(host - url) + length);
	return 0;
}

char *link_segment(const char *text)
{
	static const char hex[] = "0123456789ABCDEF";
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
	char *out = xcalloc(3 * strlen(text) + 1, 1), *to = out;

	for (; *text; text++) {
		const unsigned char c = (unsigned char)*text;

		if (strchr(plain, c)) {
			*to++ = (char)c;
			continue;
		}
		*to++ = '%';
		*to++ = hex[c >> 4];
		*to++ = hex[c & 15];
	}
	return out;
}

int link_words_status(int r)
{
	switch (-r) {
	case ENOENT:
	case EPERM:
		return STATUS_NO;
	case EINVAL:
	case EACCES:
		return STATUS_USAGE;
	default:
		return STATUS_UNKNOWN;
	}
}
