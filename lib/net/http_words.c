/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "lib/base/err.h"
#include "lib/net/http_inside.h"

static const struct failure {
	CURLcode code;
	int error;
	const char *what;
} failures[] = {
	{ CURLE_COULDNT_RESOLVE_HOST, EHOSTUNREACH, "the name of the server is not known" },
	{ CURLE_COULDNT_CONNECT, ECONNREFUSED, "cannot connect" },
	{ CURLE_OPERATION_TIMEDOUT, ETIMEDOUT, "no whole answer in time" },
	{ CURLE_PEER_FAILED_VERIFICATION, EKEYREJECTED,
	  "the certificate of the server is not trusted" },
	{ CURLE_SSL_CACERT_BADFILE, EINVAL, "the CA file cannot be used" },
	{ CURLE_SSL_CERTPROBLEM, EINVAL, "the client certificate cannot be used" },
	{ CURLE_SSL_CONNECT_ERROR, EPROTO, "TLS cannot be set up" },
	{ CURLE_GOT_NOTHING, ECONNRESET, "the connection was cut before an answer" },
	{ CURLE_PARTIAL_FILE, ECONNRESET, "the connection was cut within the answer" },
	{ CURLE_RECV_ERROR, ECONNRESET, "the connection was cut" },
	{ CURLE_SEND_ERROR, ECONNRESET, "the connection was cut" },
	{ CURLE_WEIRD_SERVER_REPLY, EPROTO, "the answer is not HTTP" },
	{ CURLE_UNSUPPORTED_PROTOCOL, EINVAL, "the URL is neither http nor https" },
	{ CURLE_URL_MALFORMAT, EINVAL, "not a URL" },
	{ CURLE_OUT_OF_MEMORY, ENOMEM, "out of memory" },
};

int http_explain(const struct http_request *request, CURLcode code, struct err *err)
{
	const char *detail = request->detail[0] ? request->detail : curl_easy_strerror(code);
	const char *peer = NULL;
	long os_error = 0;
	size_t i;

	if (request->too_big)
		return err_set(err, EFBIG, "%s %s: the answer is larger than %zu bytes",
			       request->method, request->url, request->answer.limit);
	if (request->lost)
		return err_set(err, ECONNRESET, "%s %s: the connection was lost", request->method,
			       request->url);
	(void)curl_easy_getinfo(request->easy, CURLINFO_OS_ERRNO, &os_error);
	(void)curl_easy_getinfo(request->easy, CURLINFO_PRIMARY_IP, &peer);
	/* Once connected, what is not supported is what the peer speaks. */
	if (code == CURLE_UNSUPPORTED_PROTOCOL && peer && *peer)
		code = CURLE_WEIRD_SERVER_REPLY;
	for (i = 0; i < ARRAY_SIZE(failures) && failures[i].code != code; i++)
		;
	if (i == ARRAY_SIZE(failures))
		return err_set(err, EIO, "%s %s: %s", request->method, request->url, detail);
	if (code == CURLE_COULDNT_CONNECT && os_error)
		return err_errno(err, (int)os_error, "%s %s: %s", request->method, request->url,
				 failures[i].what);
	return err_set(err, failures[i].error, "%s %s: %s (%s)", request->method, request->url,
		       failures[i].what, detail);
}
