/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/http_certificate.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "lib/base/duration.h"

/* In the format of OpenSSL, which libcurl also uses for other libraries. */
static uint64_t moment_of(const char *text)
{
	static const char *const forms[] = { "%b %d %H:%M:%S %Y GMT", "%Y-%m-%d %H:%M:%S GMT" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(forms); i++) {
		struct tm tm = { 0 };
		const char *end = strptime(text, forms[i], &tm);

		if (end && !*end && timegm(&tm) > 0)
			return (uint64_t)timegm(&tm) * USEC_PER_SEC;
	}
	return 0;
}

static const char *value_of(const char *line, const char *name)
{
	const size_t length = strlen(name);

	return strncasecmp(line, name, length) == 0 && line[length] == ':' ? line + length + 1
									   : NULL;
}

void http_certificate_read(void *easy, struct http_certificate *ret)
{
	struct curl_certinfo *info = NULL;
	const struct curl_slist *line;

	*ret = (struct http_certificate){ 0 };
	if (curl_easy_getinfo(easy, CURLINFO_CERTINFO, &info) != CURLE_OK || !info ||
	    info->num_of_certs < 1)
		return;
	for (line = info->certinfo[0]; line; line = line->next) {
		const char *begins = value_of(line->data, "Start date");
		const char *ends = value_of(line->data, "Expire date");
		const char *names = value_of(line->data, "X509v3 Subject Alternative Name");

		if (begins)
			ret->begins_us = moment_of(begins);
		if (ends)
			ret->ends_us = moment_of(ends);
		if (names)
			(void)snprintf(ret->names, sizeof(ret->names), "%s", names);
	}
}
