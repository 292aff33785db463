# SPDX-License-Identifier: Apache-2.0
# controller/http: libmicrohttpd on the loop: calls, TLS, quotas; the page's files in memory; knows no route. Included by Makefile.am.
libcontroller_a_SOURCES += controller/http/api.c controller/http/api.h controller/http/api_accept.c controller/http/api_accept.h \
	controller/http/api_accepts.c controller/http/api_accepts.h \
	controller/http/api_body.c controller/http/api_body.h controller/http/api_call.c controller/http/api_gzip.h \
	controller/http/api_header.c controller/http/api_header.h controller/http/api_inside.h \
	controller/http/api_questions.c controller/http/api_questions.h controller/http/api_route.c controller/http/api_say.c controller/http/api_say.h \
	controller/http/api_step.c controller/http/api_step.h controller/http/api_turn.c controller/http/api_turn.h \
	controller/http/listen_address.c controller/http/listen_address.h controller/http/load_shed.c \
	controller/http/load_shed.h controller/http/page_files.c controller/http/page_files.h \
	controller/http/page_index.c controller/http/page_index.h controller/http/peer_quotas.c \
	controller/http/peer_quotas.h controller/http/token_buckets.c controller/http/token_buckets.h
if HAVE_ZLIB
libcontroller_a_SOURCES += controller/http/api_gzip.c
else
libcontroller_a_SOURCES += controller/http/api_gzip_none.c
endif
if HAVE_GNUTLS
libcontroller_a_SOURCES += controller/http/api_tls.c controller/http/api_tls.h
else
libcontroller_a_SOURCES += controller/http/api_tls_none.c
endif
