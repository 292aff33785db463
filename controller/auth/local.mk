# SPDX-License-Identifier: Apache-2.0
# controller/auth: tokens, roles, token review. Included by Makefile.am.
libcontroller_a_SOURCES += controller/auth/tokens.c controller/auth/tokens.h controller/auth/trust.c \
	controller/auth/trust.h controller/auth/vouch.h
KUBE_AUTH_SOURCES = controller/auth/kube_identity.c controller/auth/kube_identity.h \
	controller/auth/kube_identity_inside.h controller/auth/kube_identity_kept.c controller/auth/kube_token.c \
	controller/auth/kube_token.h
