# SPDX-License-Identifier: Apache-2.0
# controller/auth: tokens, roles, token review; sessions of browsers. Included by Makefile.am.
libcontroller_a_SOURCES += controller/auth/authz.c controller/auth/authz.h controller/auth/join.c controller/auth/join.h controller/auth/page_proxy.c controller/auth/page_proxy.h \
	controller/auth/page_session.c controller/auth/page_session.h controller/auth/token_review.h \
	controller/auth/tokens.c controller/auth/tokens.h
KUBE_AUTH_SOURCES = controller/auth/kube_identity.c controller/auth/kube_identity.h controller/auth/kube_token.c \
	controller/auth/kube_token.h
