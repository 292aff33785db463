/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/oob.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"

/* Lines "passed HOST:PORT" alone, or nothing: what else the file of an all-reduce has. */
static bool is_of_a_permit(const char *text)
{
	static const char word[] = "passed ";

	for (text += strspn(text, "\r\n"); *text; text += strspn(text, "\r\n")) {
		if (strncmp(text, word, sizeof(word) - 1) != 0)
			return false;
		text += strcspn(text, "\r\n");
	}
	return true;
}

int oob_token_read(const char *path, char **ret_token, struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	size_t length, end;
	int r = file_read(AT_FDCWD, path, OOB_TOKEN_FILE_MAX, &text, &length, err);

	if (r < 0)
		return r;
	end = strcspn(text, "\r\n");
	if (end == 0 || end > OOB_TOKEN_MAX || strlen(text) != length || !is_of_a_permit(text + end))
		return err_set(err, EINVAL, "%s: expected one line with a token", path);
	text[end] = '\0';
	*ret_token = TAKE(text);
	return 0;
}

/* Wait until the socket can be read or written. */
static int wait_for(const struct oob *o, short events, uint64_t deadline_us, struct err *err)
{
	struct pollfd fd = { .fd = o->fd, .events = events };
	int r = poll(&fd, 1, clock_left_ms(deadline_us));

	if (r < 0 && errno != EINTR)
		return err_errno(err, errno, "%s", o->name);
	if (r == 0)
		return err_set(err, ETIMEDOUT, "%s does not answer", o->name);
	return 0;
}

static int went_away(const struct oob *o, int code, struct err *err)
{
	if (code == 0 || code == ECONNRESET || code == EPIPE)
		return err_set(err, ECONNRESET, "%s closed the connection", o->name);
	return err_set(err, ECONNRESET, "%s closed the connection: %s", o->name, strerror(code));
}

static int write_all(const struct oob *o, const void *bytes, size_t length, uint64_t deadline_us,
		     struct err *err)
{
	const char *at = bytes;

	while (length > 0) {
		ssize_t n = send(o->fd, at, length, MSG_NOSIGNAL | MSG_DONTWAIT);
		int r = 0;

		if (n < 0 && errno == EAGAIN)
			r = wait_for(o, POLLOUT, deadline_us, err);
		else if (n < 0 && errno != EINTR)
			return went_away(o, errno, err);
		if (r < 0)
			return r;
		at += MAX(n, 0);
		length -= (size_t)MAX(n, 0);
	}
	return 0;
}

static int read_all(const struct oob *o, void *ret_bytes, size_t length, uint64_t deadline_us,
		    struct err *err)
{
	char *at = ret_bytes;

	while (length > 0) {
		ssize_t n = recv(o->fd, at, length, MSG_DONTWAIT);
		int r = 0;

		if (n < 0 && errno == EAGAIN)
			r = wait_for(o, POLLIN, deadline_us, err);
		else if (n == 0 || (n < 0 && errno != EINTR))
			return went_away(o, n == 0 ? 0 : errno, err);
		if (r < 0)
			return r;
		at += MAX(n, 0);
		length -= (size_t)MAX(n, 0);
	}
	return 0;
}

static int greet(struct oob *o, bool dials, const char *token, uint64_t deadline_us, struct err *err)
{
	struct oob_greeting own = { .version = OOB_VERSION }, theirs;
	unsigned char bytes[OOB_GREETING_SIZE];
	struct err why = ERR_INIT;
	int r = random_secret(own.nonce, sizeof(own.nonce), deadline_us, err);

	if (r < 0)
		return r;
	oob_greeting_encode(&own, bytes);
	r = write_all(o, bytes, sizeof(bytes), deadline_us, err);
	if (r == 0)
		r = read_all(o, bytes, sizeof(bytes), deadline_us, err);
	if (r < 0)
		return r;
	r = oob_greeting_decode(bytes, &theirs, &why);
	if (r < 0)
		return err_set(err, -r, "%s %s", o->name, why.msg);
	oob_key(token, dials, dials ? own.nonce : theirs.nonce, dials ? theirs.nonce : own.nonce,
		o->send_key);
	oob_key(token, !dials, dials ? own.nonce : theirs.nonce, dials ? theirs.nonce : own.nonce,
		o->receive_key);
	return 0;
}

/* The dialer proves first: who only scans ports learns nothing made with the token. */
static int prove(struct oob *o, bool dials, uint64_t deadline_us, struct err *err)
{
	static const unsigned char refused[SHA256_SIZE];
	unsigned char own[SHA256_SIZE], wanted[SHA256_SIZE], theirs[SHA256_SIZE];
	int r = 0;

	oob_proof(o->send_key, own);
	oob_proof(o->receive_key, wanted);
	if (dials)
		r = write_all(o, own, sizeof(own), deadline_us, err);
	if (r == 0)
		r = read_all(o, theirs, sizeof(theirs), deadline_us, err);
	if (r < 0)
		return r;
	if (!oob_same(theirs, wanted)) {
		if (!dials)
			(void)write_all(o, refused, sizeof(refused), deadline_us, NULL);
		return err_set(err, EACCES,
			       "%s has another token: give both hosts the same --token-file",
			       o->name);
	}
	return dials ? 0 : write_all(o, own, sizeof(own), deadline_us, err);
}

int oob_begin(int fd, const char *name, bool dials, const char *token, uint64_t deadline_us,
	      struct oob *ret, struct err *err)
{
	struct oob o = { .fd = fd };
	int r;

	(void)snprintf(o.name, sizeof(o.name), "%s", name);
	r = greet(&o, dials, token, deadline_us, err);
	if (r == 0)
		r = prove(&o, dials, deadline_us, err);
	if (r < 0) {
		oob_close(&o);
		return r;
	}
	*ret = o;
	return 0;
}

int oob_send(struct oob *o, const char *body, size_t length, uint64_t deadline_us, struct err *err)
{
	unsigned char header[OOB_HEADER_SIZE];
	int r;

	if (length > OOB_BODY_MAX)
		return err_set(err, EMSGSIZE, "a message of %zu bytes", length);
	oob_header_encode(o->send_key, o->sent++, body, length, header);
	r = write_all(o, header, sizeof(header), deadline_us, err);
	return r < 0 ? r : write_all(o, body, length, deadline_us, err);
}

int oob_receive(struct oob *o, uint64_t deadline_us, char **ret_body, size_t *ret_length,
		struct err *err)
{
	unsigned char header[OOB_HEADER_SIZE], wanted[OOB_HEADER_SIZE];
	CLEANUP(freep) char *body = NULL;
	size_t length = 0;
	int r = read_all(o, header, sizeof(header), deadline_us, err);

	if (r < 0)
		return r;
	if (oob_header_length(header, &length) < 0)
		return err_set(err, EMSGSIZE, "%s sends more than %d bytes at once", o->name,
			       OOB_BODY_MAX);
	body = xcalloc(1, length + 1);
	r = read_all(o, body, length, deadline_us, err);
	if (r < 0)
		return r;
	oob_header_encode(o->receive_key, o->received++, body, length, wanted);
	if (!oob_same(header + OOB_HEADER_SIZE - SHA256_SIZE,
		      wanted + OOB_HEADER_SIZE - SHA256_SIZE))
		return err_set(err, EBADMSG, "a message from %s has a wrong signature", o->name);
	*ret_body = TAKE(body);
	*ret_length = length;
	return 0;
}

void oob_close(struct oob *o)
{
	if (o->fd >= 0)
		(void)close(o->fd);
	o->fd = -1;
}
