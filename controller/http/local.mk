# SPDX-License-Identifier: Apache-2.0
# controller/http: libmicrohttpd on the loop: calls, TLS, quotas; knows no route. Included by Makefile.am.
libcontroller_a_SOURCES += controller/http/api.c controller/http/api.h controller/http/api_accept.c \
	controller/http/api_call.c controller/http/api_header.c controller/http/api_header.h controller/http/api_inside.h \
	controller/http/api_questions.c controller/http/api_questions.h controller/http/api_route.c \
	controller/http/api_say.c controller/http/api_step.c controller/http/api_step.h controller/http/api_turn.c \
	controller/http/api_turn.h controller/http/limiter.c controller/http/limiter.h controller/http/listen_address.c \
	controller/http/listen_address.h controller/http/notice.c controller/http/notice.h controller/http/origins.c \
	controller/http/origins.h controller/http/shed.c controller/http/shed.h
if HAVE_GNUTLS
libcontroller_a_SOURCES += controller/http/api_tls.c
else
libcontroller_a_SOURCES += controller/http/api_tls_none.c
endif
