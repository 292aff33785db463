# SPDX-License-Identifier: Apache-2.0
# controller/cluster: the interface to whatever keeps jobs off nodes. Included by Makefile.am.
libcontroller_a_SOURCES += controller/cluster/cluster.c controller/cluster/cluster.h \
	controller/cluster/cluster_names.c controller/cluster/cluster_names.h controller/cluster/ledger.c \
	controller/cluster/ledger.h
