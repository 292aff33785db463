# SPDX-License-Identifier: Apache-2.0
# controller/auth: tokens, roles, token review. Included by Makefile.am.
libcontroller_a_SOURCES += controller/auth/access.c controller/auth/access.h controller/auth/trust.c \
	controller/auth/trust.h controller/auth/vouch.h
