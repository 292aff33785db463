/* SPDX-License-Identifier: Apache-2.0 */
/* The name in a client's certificate, once its chain is verified. */
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "controller/api_inside.h"
#include "lib/xalloc.h"

enum { NAME_MAX_SIZE = 256 };

static char *name_of(const gnutls_datum_t *der)
{
	gnutls_x509_crt_t certificate;
	char name[NAME_MAX_SIZE];
	size_t size = sizeof(name);
	char *found = NULL;

	if (gnutls_x509_crt_init(&certificate) != 0)
		return NULL;
	if (gnutls_x509_crt_import(certificate, der, GNUTLS_X509_FMT_DER) == 0 &&
	    gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name,
					  &size) == 0)
		found = xstrndup(name, size);
	gnutls_x509_crt_deinit(certificate);
	return found;
}

char *tls_peer(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	const gnutls_datum_t *chain;
	gnutls_session_t session = info ? info->tls_session : NULL;
	unsigned status = 0, n = 0;

	if (!session || gnutls_certificate_type_get(session) != GNUTLS_CRT_X509)
		return NULL;
	chain = gnutls_certificate_get_peers(session, &n);
	if (!chain || n == 0 || gnutls_certificate_verify_peers2(session, &status) != 0 ||
	    status != 0)
		return NULL;
	return name_of(&chain[0]);
}

bool tls_built_in(void)
{
	return MHD_is_feature_supported(MHD_FEATURE_TLS) == MHD_YES;
}
