// SPDX-License-Identifier: Apache-2.0
/** Sign-in: exchanges a token for a session. The token is not stored, and forgotten with the input field. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { call } from './api.js';
import { text } from './text.js';

export function Login({ problem, onDone }) {
	const [token, set] = useState(''), [said, say] = useState(problem), [waiting, wait] = useState(false), field = useRef(null);
	useEffect(() => {
		document.title = 'Sign in to Assay';
		field.current.focus();
	}, []);
	const enter = async (event) => {
		event.preventDefault();
		wait(true);
		try {
			await call('/v1/session', { method: 'POST', token: token.trim() });
			set('');
			onDone();
		} catch (p) {
			say(p);
		}
		wait(false);
	};
	const why = said && (said.status === 401 ? 'The controller does not know this token, or it has expired.' : text(said.message));
	return html`<main class="login"><h1>Sign in to Assay</h1>
		<p>Use your own token, as for <code>assayctl</code>. It is exchanged for a session of at most 12 hours and stored nowhere.</p>
		<form onSubmit=${enter}><label for="token">Token</label>
			<input id="token" ref=${field} type="password" autocomplete="off" required value=${token} onInput=${(e) => set(e.target.value)} aria-describedby=${why ? 'why-not' : undefined} />
			<button class="btn go" type="submit" disabled=${waiting}>Sign in</button></form>
		${why && html`<div class="refused" role="alert" id="why-not"><p>${why}</p></div>`}</main>`;
}
