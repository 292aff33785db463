# SPDX-License-Identifier: Apache-2.0
# controller/page: the files of the web page, in memory; who opened it, by cookie. Included by Makefile.am.
libcontroller_a_SOURCES += controller/page/page_files.c controller/page/page_files.h controller/page/page_index.c controller/page/page_index.h controller/page/page_proxy.c controller/page/page_proxy.h \
	controller/page/page_session.c controller/page/page_session.h
