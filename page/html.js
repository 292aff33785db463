// SPDX-License-Identifier: Apache-2.0
/** Templates without a build step: htm turns them into what preact renders. Text is always escaped, without exception. */
import { h } from 'preact';
import htm from 'htm';

export const html = htm.bind(h);
