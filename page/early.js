// SPDX-License-Identifier: Apache-2.0
/**
 * Starts the requests of the first view before the rest of the page is loaded: this file has no imports and runs as soon as it
 * has arrived. Failures are ignored: whoever needs the answer then asks in the usual way.
 */

/** As in api.js. */
const ANSWER_MS = 10000;

function ask(path) {
	return fetch(path, { headers: { Accept: 'application/json' }, cache: 'no-store', credentials: 'same-origin', redirect: 'error', signal: AbortSignal.timeout(ANSWER_MS) })
		.then((answer) => (answer.ok ? answer.json() : answer.status === 401 ? false : null)).catch(() => null);
}

const asked = { '/v1/self': ask('/v1/self'), '/v1/fleet': ask('/v1/fleet') };

/** The answer of /v1/self or /v1/fleet for the first caller; false if signed out, null if there is none. Nothing is cached. */
export function early(path) {
	const answer = asked[path];
	delete asked[path];
	return answer || Promise.resolve(null);
}
