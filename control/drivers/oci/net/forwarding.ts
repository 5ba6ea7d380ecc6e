/** Lets the box pass packets between machines' links and its own; the fences decide which. */
import { readFile, writeFile } from 'node:fs/promises'
import type { Log } from '../../../../shared/log.ts'

const file = '/proc/sys/net/ipv4/ip_forward'

export const forwards = async (): Promise<boolean> => (await readFile(file, 'utf8')).trim() === '1'

/** Turns forwarding on where it is off; it stays on, as others may have come to need it. */
export const allowForwarding = async (log: Log): Promise<void> => {
  if (await forwards()) return
  await writeFile(file, '1')
  log.info('forwarding.on', { file })
}
