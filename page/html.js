// SPDX-License-Identifier: Apache-2.0
/** Templates without a build: htm makes of them what preact renders. Text is escaped, always: there is no way round it. */
import { h } from 'preact';
import htm from 'htm';

export const html = htm.bind(h);
