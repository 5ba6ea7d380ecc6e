/** A daemon does the same with each of Node's internals switched off, and with all of them. */
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { internalNames, readSwitches } from '../../../daemon/node-internals/index.ts'
import { suite } from '../../contract/suite.ts'
import { realDaemon, type RealDaemon } from '../../support/real-daemon.ts'
import { open } from '../../support/terminal.ts'

const content = randomBytes(3 * 1024 * 1024)

const transfers = async (t: Test, { url, dir }: RealDaemon): Promise<void> => {
  const form = new FormData()
  form.append('file', new Blob([content]), 'name')
  const octets = { 'content-type': 'application/octet-stream' }
  await fetch(`${url}/filesystem/raw.bin`, { method: 'PUT', headers: octets, body: content })
  await fetch(`${url}/filesystem/form.bin`, { method: 'PUT', body: form })
  for (const name of ['raw.bin', 'form.bin']) t.ok(readFileSync(join(dir, 'work', name)).equals(content), name)
  const downloaded = await fetch(`${url}/filesystem/raw.bin?download=true`)
  t.ok(content.equals(new Uint8Array(await downloaded.arrayBuffer())), 'and back')
  const multipart = `${url}/filesystem-multipart`
  const { uploadId } = (await (await fetch(`${multipart}/initiate/parts.bin`, { method: 'POST' })).json()) as {
    uploadId: string
  }
  const part = await fetch(`${multipart}/${uploadId}/part?partNumber=1`, { method: 'PUT', body: form })
  t.match(await part.json(), { etag: createHash('md5').update(content).digest('hex'), size: content.length })
}

for (const name of internalNames)
  t.test(`${name}: the daemon works without it`, async t => {
    const daemon = await realDaemon(t, { HUTCH_NODE_INTERNALS_OFF: name })
    await transfers(t, daemon)
    const terminal = await open(t, daemon.url, '?cols=91&rows=17&shell=/bin/sh')
    terminal.send({ type: 'input', data: 'stty size\r' })
    await terminal.until(/17 91/)
  })

t.test('all: the whole contract holds', async t => {
  const { url, dir } = await realDaemon(t, { HUTCH_NODE_INTERNALS_OFF: 'all' })
  const headers = { 'user-agent': 'client/1.0' }
  await suite(t, { url, headers, workdir: `${dir}/work`, scratch: `${dir}/scratch`, gateway: false, ownNetwork: false })
})

t.test('names are read, and those that are unknown are told', t => {
  t.same(readSwitches(undefined), { off: new Set(), unknown: [] })
  t.same(readSwitches(' parser-pool, nonsense,'), { off: new Set(['parser-pool']), unknown: ['nonsense'] })
  t.same(readSwitches('all').off, new Set(internalNames))
  t.end()
})
