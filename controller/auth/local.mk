# SPDX-License-Identifier: Apache-2.0
# controller/auth: tokens, roles, token review. Included by Makefile.am.
libcontroller_a_SOURCES += controller/auth/authz.c controller/auth/authz.h controller/auth/join.c controller/auth/join.h controller/auth/token_review.h \
	controller/auth/tokens.c controller/auth/tokens.h
KUBE_AUTH_SOURCES = controller/auth/kube_identity.c controller/auth/kube_identity.h controller/auth/kube_token.c \
	controller/auth/kube_token.h
