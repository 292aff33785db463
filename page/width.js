// SPDX-License-Identifier: Apache-2.0
/** Is it a phone's screen? Then maps wrap their rows, so that nothing scrolls sideways. */
import { useEffect, useState } from 'preact/hooks';

/** As in page.css. */
const PHONE = matchMedia('(max-width: 640px)');

export function usePhone() {
	const [phone, set] = useState(PHONE.matches);
	useEffect(() => {
		const f = () => set(PHONE.matches);
		PHONE.addEventListener('change', f);
		return () => PHONE.removeEventListener('change', f);
	}, []);
	return phone;
}
