/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/api_tls.h"

#include <errno.h>
#include <stdlib.h>

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "controller/http/api_inside.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"

enum { NAME_MAX_SIZE = 256, CHAIN_MAX = 16 };

/* A handshake ends with the set it began with, or is cut after API_FIRST_US. */
#define OLD_KEPT_US (6 * API_FIRST_US)

struct tls_set {
	gnutls_pcert_st chain[CHAIN_MAX];
	unsigned n_chain;
	gnutls_privkey_t key;
	gnutls_x509_trust_list_t trust; /* NULL: no client certificates */
	struct tls_ends ends;
	uint64_t retired_us; /* monotonic */
	struct tls_set *older;
};

static struct tls_set *current;

static void tls_set_free(struct tls_set *set)
{
	unsigned i;

	for (i = 0; i < set->n_chain; i++)
		gnutls_pcert_deinit(&set->chain[i]);
	if (set->key)
		gnutls_privkey_deinit(set->key);
	if (set->trust)
		gnutls_x509_trust_list_deinit(set->trust, 1);
	free(set);
}

DEFINE_CLEANUP(struct tls_set *, tls_set_free, tls_set_freep);

static gnutls_datum_t datum(const char *text)
{
	gnutls_datum_t d = { .size = (unsigned)strlen(text) };

	memcpy(&d.data, &text, sizeof(d.data)); /* only read, although the type is not const */
	return d;
}

static int refuse(struct err *err, const char *what, int code)
{
	return err_set(err, EINVAL, "%s: %s", what, gnutls_strerror(code));
}

/* Do certificate and key match? */
static int check_pair(const gnutls_datum_t *cert, const gnutls_datum_t *key, struct err *err)
{
	gnutls_certificate_credentials_t pair;
	int code = gnutls_certificate_allocate_credentials(&pair);

	if (code < 0)
		return refuse(err, "tls-cert", code);
	code = gnutls_certificate_set_x509_key_mem(pair, cert, key, GNUTLS_X509_FMT_PEM);
	gnutls_certificate_free_credentials(pair);
	return code < 0 ? refuse(err, "tls-cert and tls-key: not a certificate and its key", code)
			: 0;
}

static int read_pair(struct tls_set *set, const char *cert_text, const char *key_text,
		     struct err *err)
{
	const gnutls_datum_t cert = datum(cert_text), key = datum(key_text);
	unsigned n = CHAIN_MAX;
	int r = check_pair(&cert, &key, err), code;

	if (r < 0)
		return r;
	code = gnutls_pcert_list_import_x509_raw(set->chain, &n, &cert, GNUTLS_X509_FMT_PEM,
						 GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);
	if (code < 0)
		return refuse(err, "tls-cert", code);
	set->n_chain = n;
	code = gnutls_privkey_init(&set->key);
	if (code >= 0)
		code = gnutls_privkey_import_x509_raw(set->key, &key, GNUTLS_X509_FMT_PEM, NULL, 0);
	return code < 0 ? refuse(err, "tls-key", code) : 0;
}

static int read_trust(struct tls_set *set, const char *ca_text, struct err *err)
{
	const gnutls_datum_t ca = datum(ca_text);
	int code = gnutls_x509_trust_list_init(&set->trust, 0);

	if (code >= 0)
		code = gnutls_x509_trust_list_add_trust_mem(set->trust, &ca, NULL,
							    GNUTLS_X509_FMT_PEM, 0, 0);
	if (code == 0)
		return err_set(err, EINVAL, "client-ca: no certificate in it");
	return code < 0 ? refuse(err, "client-ca", code) : 0;
}

/* --- validity of certificates --- */

static uint64_t us_of(time_t at)
{
	return at > 0 ? (uint64_t)at * USEC_PER_SEC : 0;
}

/* Validity of the certificates of one setting. */
struct dates {
	const char *what; /* name of the setting */
	uint64_t now_us;
	uint64_t end_us; /* of the first to expire; 0: none yet */
	struct err *soon;
};

/* Is the certificate valid now? */
static int check_date(gnutls_x509_crt_t one, struct dates *d, struct err *err)
{
	const uint64_t from_us = us_of(gnutls_x509_crt_get_activation_time(one));
	const uint64_t until_us = us_of(gnutls_x509_crt_get_expiration_time(one));
	char from[CLOCK_STAMP_SIZE], until[CLOCK_STAMP_SIZE];

	d->end_us = d->end_us ? MIN(d->end_us, until_us) : until_us;
	clock_stamp(from_us, from);
	clock_stamp(until_us, until);
	if (d->now_us < from_us)
		return err_set(err, ETIME, "%s: not valid before %s: is the clock right?", d->what,
			       from);
	if (d->now_us >= until_us)
		return err_set(err, ETIME, "%s: expired at %s: renew it", d->what, until);
	if (until_us - d->now_us < API_TLS_SOON_US && !d->soon->msg[0])
		(void)err_set(d->soon, EAGAIN, "%s: expires at %s: renew it", d->what, until);
	return 0;
}

/* Checks all; reports the first that is not valid. */
static int check_chain_dates(struct tls_set *set, struct dates *d, struct err *err)
{
	unsigned i;
	int r = 0;

	for (i = 0; i < set->n_chain; i++) {
		struct err ignored = ERR_INIT;
		gnutls_x509_crt_t one;
		int q;

		if (gnutls_pcert_export_x509(&set->chain[i], &one) < 0)
			continue;
		q = check_date(one, d, r < 0 ? &ignored : err);
		r = r < 0 ? r : q;
		gnutls_x509_crt_deinit(one);
	}
	return r;
}

static int check_trust_dates(const char *ca_text, struct dates *d, struct err *err)
{
	const gnutls_datum_t ca = datum(ca_text);
	gnutls_x509_crt_t *list = NULL;
	unsigned n = 0, i;
	int r = 0;

	if (gnutls_x509_crt_list_import2(&list, &n, &ca, GNUTLS_X509_FMT_PEM, 0) < 0)
		return 0; /* read_trust() reports it */
	for (i = 0; i < n; i++) {
		struct err ignored = ERR_INIT;
		const int q = check_date(list[i], d, r < 0 ? &ignored : err);

		r = r < 0 ? r : q;
		gnutls_x509_crt_deinit(list[i]);
	}
	gnutls_free(list);
	return r;
}

/* Also notes in the set when they expire. */
static int check_dates(struct tls_set *set, const char *ca, uint64_t now_us, struct err *ret_soon,
		       struct err *err)
{
	struct dates chain = { .what = "tls-cert", .now_us = now_us, .soon = ret_soon };
	struct dates trust = { .what = "client-ca", .now_us = now_us, .soon = ret_soon };
	struct err ignored = ERR_INIT;
	int r = check_chain_dates(set, &chain, err);
	int q = ca ? check_trust_dates(ca, &trust, r < 0 ? &ignored : err) : 0;

	set->ends = (struct tls_ends){ chain.end_us, trust.end_us };
	return r < 0 ? r : q;
}

struct tls_ends api_tls_ends(void)
{
	return current ? current->ends : (struct tls_ends){ 0 };
}

int api_tls_check_keys(const char *cert, const char *key, const char *ca, struct err *ret_soon,
		       struct err *err)
{
	CLEANUP(tls_set_freep) struct tls_set *set = xcalloc(1, sizeof(*set));
	int r = read_pair(set, cert, key, err);

	if (r == 0 && ca)
		r = read_trust(set, ca, err);
	return r == 0 ? check_dates(set, ca, clock_real_us(), ret_soon, err) : r;
}

/* It is used anyway: the clock may be wrong, and decisions do not depend on a certificate. */
static void tell_dates(struct tls_set *set, const char *ca)
{
	struct err soon = ERR_INIT, err = ERR_INIT;

	if (check_dates(set, ca, clock_real_us(), &soon, &err) < 0)
		log_error("%s", err.msg);
	else if (soon.msg[0])
		log_warning("%s", soon.msg);
}

/* Free old sets that no handshake can need any more. */
static void drop_old(uint64_t now_us)
{
	struct tls_set **at = &current->older, *old;

	while (*at && now_us - (*at)->retired_us < OLD_KEPT_US)
		at = &(*at)->older;
	while ((old = *at)) {
		*at = old->older;
		tls_set_free(old);
	}
}

int api_tls_set_keys(const char *cert, const char *key, const char *ca, struct err *err)
{
	CLEANUP(tls_set_freep) struct tls_set *set = xcalloc(1, sizeof(*set));
	int r = read_pair(set, cert, key, err);

	if (r == 0 && ca)
		r = read_trust(set, ca, err);
	if (r < 0)
		return r;
	tell_dates(set, ca);
	if (current)
		current->retired_us = clock_mono_us();
	set->older = current;
	current = TAKE(set);
	drop_old(clock_mono_us());
	return 0;
}

static int give_chain(gnutls_session_t session UNUSED, const gnutls_datum_t *names UNUSED,
		      int n_names UNUSED, const gnutls_pk_algorithm_t *kinds UNUSED,
		      int n_kinds UNUSED, gnutls_pcert_st **chain, unsigned *n_chain,
		      gnutls_privkey_t *key)
{ /* lint: allow parameters: the library's callback */
	*chain = current->chain;
	*n_chain = current->n_chain;
	*key = current->key;
	return 0;
}

void *api_tls_callback(void)
{
	gnutls_certificate_retrieve_function2 *function = give_chain;
	void *p;

	memcpy(&p, &function, sizeof(p));
	return p;
}

static char *name_of(gnutls_x509_crt_t certificate)
{
	char name[NAME_MAX_SIZE];
	size_t size = sizeof(name);

	return gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name,
					     &size) == 0
		       ? xstrndup(name, size)
		       : NULL;
}

static unsigned char client_purpose[] = GNUTLS_KP_TLS_WWW_CLIENT;

/* The name in the first certificate of a chain signed by a trusted CA; else NULL. */
static char *verified_name(const gnutls_datum_t *chain, unsigned n)
{
	/* If it restricts its use (RFC 5280 4.2.1.12), that has to include clients. */
	gnutls_typed_vdata_st purpose = { .type = GNUTLS_DT_KEY_PURPOSE_OID,
					  .data = client_purpose };
	gnutls_x509_crt_t certificates[CHAIN_MAX];
	unsigned status = 0, i, n_read = 0;
	char *name = NULL;

	for (i = 0; i < MIN(n, (unsigned)CHAIN_MAX); i++) {
		if (gnutls_x509_crt_init(&certificates[i]) != 0)
			break;
		n_read++;
		if (gnutls_x509_crt_import(certificates[i], &chain[i], GNUTLS_X509_FMT_DER) != 0)
			break;
	}
	if (n > 0 && i == n &&
	    gnutls_x509_trust_list_verify_crt2(current->trust, certificates, n, &purpose, 1, 0,
					       &status, NULL) == 0 &&
	    status == 0)
		name = name_of(certificates[0]);
	for (i = 0; i < n_read; i++)
		gnutls_x509_crt_deinit(certificates[i]);
	return name;
}

char *api_tls_peer(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	const gnutls_datum_t *chain;
	gnutls_session_t session = info ? info->tls_session : NULL;
	unsigned n = 0;

	if (!session || !current || !current->trust ||
	    gnutls_certificate_type_get(session) != GNUTLS_CRT_X509)
		return NULL;
	chain = gnutls_certificate_get_peers(session, &n);
	return chain ? verified_name(chain, n) : NULL;
}

bool api_tls_built_in(void)
{
	return MHD_is_feature_supported(MHD_FEATURE_TLS) == MHD_YES;
}
