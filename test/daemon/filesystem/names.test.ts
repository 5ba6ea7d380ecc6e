/** Names that are no UTF-8: Linux takes any bytes. */
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import { daemon, daemonServer } from '../../support/daemon.ts'

/** A path of bytes below `dir`. */
const bytes = (dir: string, ...name: number[]) => Buffer.concat([Buffer.from(`${dir}/`), Buffer.from(name)])

const filled = async (t: Test) => {
  const made = await daemon(t, { files: { d: {} } })
  const dir = `${made.dir}/d`
  writeFileSync(bytes(dir, 0x61, 0xff), 'needle one')
  writeFileSync(bytes(dir, 0x61, 0xfe), 'needle two')
  mkdirSync(bytes(dir, 0x64, 0xe4))
  writeFileSync(Buffer.concat([bytes(dir, 0x64, 0xe4), Buffer.from('/in')]), 'needle three')
  symlinkSync(Buffer.from([0x61, 0xff]), `${dir}/link`)
  return { ...made, at: dir }
}

t.test('they are listed with the name that an address wants', async t => {
  const { call } = await filled(t)
  const { body, text } = await call('GET', '/filesystem/d')
  t.same(body.files.map((file: { name: string; escapedName?: string }) => [file.name, file.escapedName]).sort(), [
    ['a\ufffd', 'a%FE'],
    ['a\ufffd', 'a%FF'],
    ['link', undefined],
  ])
  t.match(body.subdirectories, [{ name: 'd\ufffd', escapedName: 'd%E4' }])
  t.notMatch(text, /\\ud/, 'every parser takes the answer')
})

t.test('they are read, written and deleted by that name', async t => {
  const { call, at } = await filled(t)
  t.match((await call('GET', '/filesystem/d/a%FF')).body, { content: 'needle one', name: 'a\ufffd' })
  t.equal((await call('GET', '/filesystem/d/a%fe?download=true')).text, 'needle two')
  t.match((await call('GET', '/filesystem/d/d%E4/in')).body, { content: 'needle three' })
  t.match((await call('GET', '/filesystem/d/link')).body, { content: 'needle one' })
  t.match((await call('GET', `/filesystem/tree${at}/d%E4`)).body, { files: [{ name: 'in' }] })
  t.equal((await call('PUT', '/filesystem/d/n%FF', { body: { content: 'new' } })).status, 200)
  t.ok(existsSync(bytes(at, 0x6e, 0xff)))
  for (const name of ['a%FF', 'a%FE', 'n%FF', 'd%E4?recursive=true'])
    t.equal((await call('DELETE', `/filesystem/d/${name}`)).status, 200, name)
  t.same(readdirSync(at), ['link'])
})

t.test('they are found, and searched', async t => {
  const { call } = await filled(t)
  const escapes = async (target: string) =>
    (await call('GET', target)).body.matches
      .map(({ path, escapedName, escapedPath }: Record<string, string>) => [path, escapedName, escapedPath])
      .sort()
  const all = [
    ['a\ufffd', 'a%FE', 'a%FE'],
    ['a\ufffd', 'a%FF', 'a%FF'],
    ['d\ufffd/in', undefined, 'd%E4/in'],
  ]
  t.same(await escapes('/filesystem-find/d?patterns=a*,in'), all)
  t.same(await escapes('/filesystem-content-search/d?query=needle'), all)
  t.same((await escapes('/filesystem-search/d?query=i')).slice(0, 2), [
    ['d\ufffd/in', undefined, 'd%E4/in'],
    ['link', undefined, undefined],
  ])
  t.same(await escapes('/filesystem-find/d?type=directory'), [
    ['.', undefined, undefined],
    ['d\ufffd', 'd%E4', 'd%E4'],
  ])
  t.equal((await call('GET', '/filesystem-find/d')).body.total, 4)
  t.equal((await call('GET', '/filesystem-find/d/d%E4')).body.total, 1)
  t.equal((await call('GET', '/filesystem-search/d?query=a')).body.total, 2)
  t.equal((await call('GET', '/filesystem-content-search/d?query=needle')).body.total, 3)
})

t.test('they go into an archive with the escapes of their bytes', async t => {
  const { call, dir } = await filled(t)
  const body = (await call('GET', '/filesystem-archive/d')).bytes
  t.match((await call('PUT', '/filesystem-archive/e', { body })).body, { entries: 5 })
  t.same(readdirSync(`${dir}/e`).sort(), ['a%FE', 'a%FF', 'd%E4', 'link'])
})

t.test('they are told by a watch', async t => {
  const { url, dir } = await daemonServer(t)
  const sent = get(`${url}/watch/filesystem/**`)
  t.teardown(() => sent.destroy())
  const [message] = (await once(sent, 'response')) as [IncomingMessage]
  message.on('error', () => {})
  let text = ''
  mkdirSync(bytes(dir, 0x64, 0xff))
  writeFileSync(Buffer.concat([bytes(dir, 0x64, 0xff), Buffer.from('/in')]), 'x')
  for await (const piece of message) {
    text += String(piece)
    if (text.includes('"in"')) break
  }
  t.match(text, '"name":"d\ufffd"')
  t.match(text, `"path":"${dir}/d\ufffd"`)
  t.match(text, '"escapedName":"d%FF"')
  t.match(text, `"escapedPath":"${dir}/d%FF"`)
  t.notMatch(text, /\\ud/)
})
