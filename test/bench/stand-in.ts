/** The control plane of `stand-in-host.ts`, with one sandbox. */
import { once } from 'node:events'
import { request as ask, type IncomingMessage } from 'node:http'
import { request as askSecurely } from 'node:https'
import { text } from 'node:stream/consumers'
import { scratch, startScript } from './child.ts'
import type { Bench } from './measure.ts'
import type { StandInSaid } from './stand-in-host.ts'

const image = 'busybox'

/** Where it speaks TLS: what the names of certificate and key begin with, and whom its clients trust. */
export interface Certified {
  readonly stem: string
  readonly ca: string
}

/** Its sandbox `a` is served by `upstream`, a port of loopback. Throws when it does not make the sandbox. */
export const standInHost = async (
  bench: Bench,
  upstream: number,
  tls?: Certified,
): Promise<StandInSaid & { pid: number; dataDir: string }> => {
  const dataDir = scratch(bench, 'data')
  const args = [dataDir, String(upstream), ...(tls ? [tls.stem] : [])]
  const { said, pid } = await startScript<StandInSaid>(bench, new URL('stand-in-host.ts', import.meta.url), args)
  const options = {
    host: 'localhost',
    family: 4,
    port: said.port,
    path: '/v0/sandboxes',
    method: 'POST',
    headers: { authorization: `Bearer ${said.key}`, 'content-type': 'application/json' },
  }
  const asked = tls ? askSecurely({ ...options, ca: tls.ca }) : ask(options)
  asked.end(JSON.stringify({ metadata: { name: 'a' }, spec: { runtime: { image, memory: 256 } } }))
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  const body = await text(answer)
  if (answer.statusCode !== 200) throw new Error(`no sandbox: ${answer.statusCode} ${body}`)
  return { ...said, pid, dataDir }
}
