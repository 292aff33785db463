// SPDX-License-Identifier: Apache-2.0
/** Whether the screen is a phone's: maps fold their rows then, so that nothing has to be moved sideways. */
import { useEffect, useState } from 'preact/hooks';

/** As page.css has it. */
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
