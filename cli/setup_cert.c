/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/setup_cert.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/report/node_name.h"

enum { SERIAL_SIZE = 16, KEY_ID_MAX = 64, DAY_S = 24 * 3600 };

/* Backdated, for hosts whose clocks are behind. */
#define EARLIER_S 3600

void setup_cert_release(struct setup_cert_pair *p)
{
	free(p->cert);
	free(p->key);
	*p = (struct setup_cert_pair){ 0 };
}

/* A certificate under construction, with its key. */
struct making {
	gnutls_x509_crt_t cert;
	gnutls_x509_privkey_t key;
};

static void making_release(struct making *m)
{
	if (m->cert)
		gnutls_x509_crt_deinit(m->cert);
	if (m->key)
		gnutls_x509_privkey_deinit(m->key);
}

/* Convert a GnuTLS `code` to an errno with a message. */
static int check(int code, const char *what, struct err *err)
{
	return code < 0 ? err_set(err, EINVAL, "%s: %s", what, gnutls_strerror(code)) : 0;
}

static int begin(struct making *m, const char *name, unsigned days, struct err *err)
{
	unsigned char serial[SERIAL_SIZE];
	const time_t now = (time_t)(clock_real_us() / USEC_PER_SEC);
	int code = gnutls_x509_crt_init(&m->cert);

	if (code == 0)
		code = gnutls_x509_privkey_init(&m->key);
	if (code == 0)
		code = gnutls_x509_privkey_generate(
			m->key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1),
			0);
	if (code < 0)
		return check(code, "a key cannot be created", err);
	if (random_secret(serial, sizeof(serial), clock_mono_us() + 10 * USEC_PER_SEC, err) < 0)
		return -EAGAIN;
	serial[0] &= 0x7f; /* positive (RFC 5280, 4.1.2.2) */
	if (code == 0)
		code = gnutls_x509_crt_set_version(m->cert, 3);
	if (code == 0)
		code = gnutls_x509_crt_set_serial(m->cert, serial, sizeof(serial));
	if (code == 0)
		code = gnutls_x509_crt_set_dn_by_oid(m->cert, GNUTLS_OID_X520_COMMON_NAME, 0, name,
						     (unsigned)strlen(name));
	if (code == 0)
		code = gnutls_x509_crt_set_activation_time(m->cert, now - EARLIER_S);
	if (code == 0)
		code = gnutls_x509_crt_set_expiration_time(m->cert, now + (time_t)days * DAY_S);
	if (code == 0)
		code = gnutls_x509_crt_set_key(m->cert, m->key);
	return check(code, "a certificate cannot be created", err);
}

/* Set the key identifiers of subject and issuer. */
static int identify(struct making *m, const struct making *by)
{
	unsigned char id[KEY_ID_MAX];
	size_t size = sizeof(id);
	int code = gnutls_x509_crt_get_key_id(m->cert, 0, id, &size);

	if (code == 0)
		code = gnutls_x509_crt_set_subject_key_id(m->cert, id, size);
	size = sizeof(id);
	if (code == 0)
		code = gnutls_x509_crt_get_key_id(by->cert, 0, id, &size);
	return code == 0 ? gnutls_x509_crt_set_authority_key_id(m->cert, id, size) : code;
}

static int end(struct making *m, const struct making *by, struct setup_cert_pair *ret,
	       struct err *err)
{
	gnutls_datum_t cert = { 0 }, key = { 0 };
	int code = identify(m, by);

	if (code == 0)
		code = gnutls_x509_crt_sign2(m->cert, by->cert, by->key, GNUTLS_DIG_SHA256, 0);
	if (code == 0)
		code = gnutls_x509_crt_export2(m->cert, GNUTLS_X509_FMT_PEM, &cert);
	if (code == 0)
		code = gnutls_x509_privkey_export2_pkcs8(m->key, GNUTLS_X509_FMT_PEM, NULL,
							 GNUTLS_PKCS_PLAIN, &key);
	if (code == 0)
		*ret = (struct setup_cert_pair){ xstrndup((char *)cert.data, cert.size),
						 xstrndup((char *)key.data, key.size) };
	gnutls_free(cert.data);
	gnutls_free(key.data);
	return check(code, "a certificate cannot be signed", err);
}

int setup_cert_authority(const char *name, struct setup_cert_pair *ret, struct err *err)
{
	CLEANUP(making_release) struct making m = { 0 };
	CLEANUP(freep) char *common = xasprintf("assay authority of %.40s", name);
	int code, r = begin(&m, common, SETUP_CA_DAYS, err);

	if (r < 0)
		return r;
	code = gnutls_x509_crt_set_basic_constraints(m.cert, 1, 0);
	if (code == 0)
		code = gnutls_x509_crt_set_key_usage(m.cert, GNUTLS_KEY_KEY_CERT_SIGN);
	r = check(code, "an authority cannot be created", err);
	return r < 0 ? r : end(&m, &m, ret, err);
}

/* Add a subject alternative name. */
static int add_name(struct making *m, const char *name, struct err *err)
{
	unsigned char address[sizeof(struct in6_addr)];
	gnutls_x509_subject_alt_name_t kind = GNUTLS_SAN_IPADDRESS;
	const void *data = address;
	unsigned size;
	int code;

	if (inet_pton(AF_INET, name, address) == 1)
		size = sizeof(struct in_addr);
	else if (inet_pton(AF_INET6, name, address) == 1)
		size = sizeof(struct in6_addr);
	else if (node_name_ok(name)) {
		kind = GNUTLS_SAN_DNSNAME;
		data = name;
		size = (unsigned)strlen(name);
	} else
		return err_set(err, EINVAL, "'%.80s' is neither a host's name nor an IP address",
			       name);
	code = gnutls_x509_crt_set_subject_alt_name(m->cert, kind, data, size, GNUTLS_FSAN_APPEND);
	return check(code, name, err);
}

static int read_authority(const struct setup_cert_pair *ca, struct making *ret, struct err *err)
{
	const gnutls_datum_t cert = { (unsigned char *)ca->cert, (unsigned)strlen(ca->cert) };
	const gnutls_datum_t key = { (unsigned char *)ca->key, (unsigned)strlen(ca->key) };
	int code = gnutls_x509_crt_init(&ret->cert);

	if (code == 0)
		code = gnutls_x509_privkey_init(&ret->key);
	if (code == 0)
		code = gnutls_x509_crt_import(ret->cert, &cert, GNUTLS_X509_FMT_PEM);
	if (code == 0)
		code = gnutls_x509_privkey_import2(ret->key, &key, GNUTLS_X509_FMT_PEM, NULL, 0);
	return check(code, "the authority cannot be read", err);
}

int setup_cert_server(const struct setup_cert_pair *ca, const char *const *names, size_t n,
		      struct setup_cert_pair *ret, struct err *err)
{
	CLEANUP(making_release) struct making authority = { 0 };
	CLEANUP(making_release) struct making m = { 0 };
	int code, r = read_authority(ca, &authority, err);
	size_t i;

	if (r == 0)
		r = begin(&m, names[0], SETUP_CERT_DAYS, err);
	for (i = 0; r == 0 && i < n; i++)
		r = add_name(&m, names[i], err);
	if (r < 0)
		return r;
	code = gnutls_x509_crt_set_basic_constraints(m.cert, 0, -1);
	if (code == 0)
		code = gnutls_x509_crt_set_key_usage(m.cert, GNUTLS_KEY_DIGITAL_SIGNATURE);
	if (code == 0)
		code = gnutls_x509_crt_set_key_purpose_oid(m.cert, GNUTLS_KP_TLS_WWW_SERVER, 0);
	r = check(code, "a server certificate cannot be created", err);
	return r < 0 ? r : end(&m, &authority, ret, err);
}
