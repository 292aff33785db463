# SPDX-License-Identifier: Apache-2.0
# controller/cluster/embedded: a cluster for sites without Kubernetes: tables in the store. Included by Makefile.am.
libcontroller_a_SOURCES += controller/cluster/embedded/cluster_embedded.c \
	controller/cluster/embedded/cluster_embedded.h
