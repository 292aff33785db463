// SPDX-License-Identifier: Apache-2.0
/**
 * What the first view waits for, asked before anything else of the page is there: this file needs no other, and runs when it has come.
 * A failure is no news: whoever wants the answer then asks in the usual way.
 */

/** As ANSWER_MS of api.js. */
const ANSWER_MS = 10000;

function ask(path) {
	return fetch(path, { headers: { Accept: 'application/json' }, cache: 'no-store', credentials: 'same-origin', redirect: 'error', signal: AbortSignal.timeout(ANSWER_MS) })
		.then((answer) => (answer.ok ? answer.json() : answer.status === 401 ? false : null)).catch(() => null);
}

const asked = { '/v1/self': ask('/v1/self'), '/v1/fleet': ask('/v1/fleet') };

/** The answer of /v1/self or /v1/fleet, to the first who asks for it; false to who is signed out, null when there is none. Nothing is kept here. */
export function early(path) {
	const answer = asked[path];
	delete asked[path];
	return answer || Promise.resolve(null);
}
