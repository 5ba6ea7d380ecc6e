/** The way of a sandbox by a client made by openapi-typescript, types held strictly. */
import createClient from 'openapi-fetch'
import type { paths as Management } from './management.d.ts'
import type { paths as Sandbox } from './sandbox.d.ts'

declare const process: { env: Record<string, string | undefined> }
declare const console: { log(line: string): void }

const need = <T>(value: T | undefined, what: unknown): T => {
  if (value === undefined) throw new Error(JSON.stringify(what))
  return value
}

const headers = { authorization: `Bearer ${process.env['HUTCH_KEY']}` }
const host = createClient<Management>({ baseUrl: need(process.env['HUTCH_URL'], 'HUTCH_URL'), headers })

const created = await host.POST('/v0/sandboxes', {
  body: { metadata: { name: 'ts' }, spec: { runtime: { image: 'svc/busybox:latest', memory: 256 } } },
})
const { metadata } = need(created.data, created.error)
const box = createClient<Sandbox>({ baseUrl: need(metadata.url, metadata), headers })

const ran = await box.POST('/process', { body: { command: 'echo out; exit 3', waitForCompletion: true } })
const ended = need(ran.data, ran.error)
// It may be a stream of events instead, when that is asked for.
if (typeof ended === 'string' || ended.exitCode !== 3 || ended.stdout !== 'out\n')
  throw new Error(JSON.stringify(ended))

await box.PUT('/filesystem/{path}', { params: { path: { path: 'a/b.txt' } }, body: { content: 'hello' } })
const read = await box.GET('/filesystem/{path}', { params: { path: { path: 'a/b.txt' } } })
const file = need(read.data, read.error)
if (typeof file === 'string' || !('content' in file) || file.content !== 'hello') throw new Error(JSON.stringify(file))

const gone = await host.DELETE('/v0/sandboxes/{sandboxName}', { params: { path: { sandboxName: 'ts' } } })
console.log(`gone: ${need(gone.data, gone.error).status}`)
