/** Scratch servers for the drill: two sandboxes with files that are known to be on the disk, and what is left of them afterwards. */
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { twice, withStore } from '../support/bill.ts'
import { loopsLeft, traces } from '../support/oci.ts'
import type { Server } from '../support/server.ts'

export const names = ['one', 'two'] as const
const bytes = 1_000_000

export interface Stored {
  readonly name: string
  readonly sum: string
}

export const exec = async (s: Server, name: string, command: string): Promise<string> =>
  (await s.call('POST', `/default/sandboxes/${name}/process`, { command, waitForCompletion: true })).body?.logs ?? ''

const create = async (s: Server, name: string): Promise<void> => {
  await s.call('POST', '/v0/sandboxes', { metadata: { name }, spec: { runtime: { image: 'busybox', memory: 256 } } })
  await s.until(name, body => body.status === 'DEPLOYED')
}

/** Makes the sandboxes; a megabyte in each is on the disk. */
export const fill = async (s: Server): Promise<Stored[]> => {
  const stored: Stored[] = []
  for (const name of names) {
    await create(s, name)
    const content = randomBytes(bytes)
    await fetch(new URL(`/default/sandboxes/${name}/filesystem//kept`, s.url), {
      method: 'PUT',
      headers: { authorization: `Bearer ${s.key}`, 'content-type': 'application/octet-stream' },
      body: content,
    })
    const sum = createHash('sha256').update(content).digest('hex')
    if (!(await exec(s, name, 'sync; sha256sum /kept')).startsWith(sum))
      throw new Error(`${name} has not what was written`)
    stored.push({ name, sum })
  }
  return stored
}

/** Resolves when every sandbox answers, with the bytes that are not what they were; throws after two minutes. */
export const recovered = async (s: Server, stored: readonly Stored[]): Promise<number> => {
  let lost = 0
  for (const { name, sum } of stored) {
    for (
      const end = performance.now() + 120_000;
      (await exec(s, name, 'echo up').catch(() => '')) !== 'up\n';
      await sleep(20)
    )
      if (performance.now() > end) throw new Error(`${name} does not come back`)
    if (!(await exec(s, name, 'sha256sum /kept')).startsWith(sum)) lost += bytes
  }
  return lost
}

export interface Left {
  readonly leaks: string[]
  /** Seconds on the bill twice, and of what is gone. */
  readonly billedS: number
}

/** Deletes all, stops the server and looks at what is left. */
export const clear = async (s: Server): Promise<Left> => {
  const ids = (await withStore(s.dataDir, store => store.instances.every())).map(({ id }) => id)
  for (const name of names) await s.call('DELETE', `/v0/sandboxes/${name}`)
  for (const name of names) await s.until(name, (body, status) => status === 404 || body.status === 'TERMINATED')
  await s.stop()
  const intervals = await withStore(s.dataDir, async store =>
    (await Promise.all(ids.map(id => store.meter.intervals(id)))).flat(),
  )
  const wrong = [...twice(intervals), ...intervals.filter(({ to }) => to === null)]
  const billedS = wrong.reduce((all, { from, to }) => all + ((to ?? Date.now()) - from) / 1000, 0)
  const left = [...readdirSync(join(s.dataDir, 'machines')), ...traces(s.names), ...(await loopsLeft(s.dataDir))]
  return { leaks: left, billedS }
}
