/** The client against a real daemon: every way of sending and answering that its routes declare. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import t from 'tap'
import { WebSocket } from 'ws'
import { createClient } from '../../../../shared/http/client/index.ts'
import {
  deletePath,
  readPath,
  readRootTree,
  readTree,
  writeArchive,
  readArchive,
  writePath,
  findPaths,
} from '../../../../shared/wire/filesystem.ts'
import { completeUpload, initiateUpload, uploadPart } from '../../../../shared/wire/multipart.ts'
import {
  startProcess,
  streamProcessLogs,
  writeStdin,
  closeStdin,
  killProcess,
} from '../../../../shared/wire/process.ts'
import { health, upgrade } from '../../../../shared/wire/system.ts'
import { terminalSocket } from '../../../../shared/wire/terminal.ts'
import { watchFilesystem } from '../../../../shared/wire/watch.ts'
import { textOf } from '../../../../shared/utf8.ts'
import { daemonServer } from '../../../support/daemon.ts'

const { url, dir } = await daemonServer(t)
const { ask, stream, events, url: urlOf, close } = createClient({ api: 'sandbox', baseUrl: url })
t.teardown(close)

t.test('a path names the same file to both sides, relative, absolute, and whatever it is called', async t => {
  const names = [
    'a',
    'a b',
    '100%',
    '%2F',
    '%2f%41',
    'ä😀',
    'a?b#c',
    'tree',
    'tree/x',
    'src/tree',
    "it's",
    '~/x/../y',
    '...',
  ]
  for (const name of names) {
    await ask(writePath, { params: { path: name }, body: { content: name } })
    t.match(await ask(readPath, { params: { path: name } }), { content: name }, name)
    if (name.startsWith('~')) continue
    const absolute = join(dir, name)
    t.equal(readFileSync(absolute, 'utf8'), name, name)
    t.match(await ask(readPath, { params: { path: absolute } }), { content: name }, absolute)
    if (name !== 'tree') await ask(deletePath, { params: { path: absolute } })
    else await ask(deletePath, { params: { path: name } })
  }
  const bytes = textOf(Buffer.from([0x63, 0xe9]))
  await ask(writePath, { params: { path: bytes }, body: 'raw' })
  t.equal(readFileSync(Buffer.concat([Buffer.from(`${dir}/c`), Buffer.from([0xe9])]), 'utf8'), 'raw')
  t.match(await ask(readTree, { params: { path: dir } }), { path: dir })
  t.match(await ask(readRootTree), { path: '/' })
  t.match(await ask(readPath, { params: { path: '' } }), { files: [] as [] })
})

t.test('bytes, streams, forms, parts and archives go in; streams come out', async t => {
  const content = Buffer.alloc(3_000_000, 'abcdefg')
  const read = async (path: string) => buffer(await stream(readPath, { params: { path }, query: { download: true } }))
  await ask(writePath, { params: { path: 'raw' }, query: { permissions: '600' }, body: Readable.from([content]) })
  t.same(await read('raw'), content)
  await ask(writePath, {
    params: { path: 'form' },
    form: { file: Readable.from([content]), fields: { permissions: '640' } },
  })
  t.same(await read('form'), content)
  t.match(await ask(findPaths, { params: { path: '.' }, query: { patterns: 'form' } }), { total: 1 })
  const { uploadId } = await ask(initiateUpload, { params: { path: 'parts' }, body: { permissions: '600' } })
  const { etag } = await ask(uploadPart, { params: { uploadId }, query: { partNumber: '1' }, form: { file: content } })
  t.equal(etag, createHash('md5').update(content).digest('hex'))
  await ask(completeUpload, { params: { uploadId }, body: { parts: [{ partNumber: 1, etag }] } })
  t.same(await read('parts'), content)
  const range = await stream(
    readPath,
    { params: { path: 'parts' }, query: { download: true } },
    { headers: { range: 'bytes=1-3' } },
  )
  t.equal(range.status, 206)
  t.equal(await text(range), 'bcd')
  const archive = await buffer(await stream(readArchive, { params: { path: 'form' }, query: { gzip: true } }))
  t.match(await ask(writeArchive, { params: { path: 'unpacked' }, body: archive }), { entries: 1 })
})

t.test('a process: events from its start, input, lines, its end', async t => {
  const seen: string[] = []
  let name = ''
  for await (const { type, data } of events(startProcess, {
    body: { command: 'echo out; echo err >&2', keepAlive: true },
  })) {
    seen.push(type)
    if (type === 'result') name = (JSON.parse(data ?? '') as { name: string }).name
  }
  t.same(seen.toSorted(), ['result', 'stderr', 'stdout'])
  const lines: string[] = []
  for await (const line of (await stream(streamProcessLogs, { params: { identifier: name } })).lines()) lines.push(line)
  t.ok(lines.includes('stdout:out') && lines.includes('stderr:err'), lines.join('|'))

  const { pid } = await ask(startProcess, { body: { command: 'cat', stdin: true } })
  await ask(writeStdin, { params: { identifier: pid }, body: Readable.from(['hel', 'lo']) })
  await ask(closeStdin, { params: { identifier: pid } })
  t.equal(
    await text(await stream(streamProcessLogs, { params: { identifier: pid }, query: { stream: 'stdout' } })),
    'hello',
  )
  const query = { stream: 'stdout', cursor: 1 } as const
  t.equal(await text(await stream(streamProcessLogs, { params: { identifier: name }, query })), 'ut\n')
  await t.rejects(ask(killProcess, { params: { identifier: 'none' } }), { code: 'not_found', message: /none/ })
  await t.rejects(ask(startProcess, { body: { command: '' } }), {
    code: 'invalid_argument',
    message: /command: is required/,
  })
})

t.test('a watch tells typed events', async t => {
  await ask(writePath, { params: { path: 'watched' }, body: { isDirectory: true } })
  const { pid } = await ask(startProcess, {
    body: { command: 'while :; do touch $(date +%N); sleep 0.05; done', workingDir: `${dir}/watched` },
  })
  t.teardown(() => ask(killProcess, { params: { identifier: pid } }))
  for await (const { op, path } of events(watchFilesystem, { params: { path: `${dir}/watched` } })) {
    if (!op.includes('CREATE')) continue
    t.equal(path, `${dir}/watched`)
    break
  }
})

t.test('the rest: health, an upgrade that is refused, a terminal by its address', async t => {
  t.match(await ask(health), { status: 'ok' })
  await t.rejects(ask(upgrade, { body: { version: 'no such release!' } }), { code: /invalid_argument|unprocessable/ })
  await t.rejects(ask(terminalSocket), { code: 'upgrade_required' })
  const socket = new WebSocket(urlOf(terminalSocket, { query: { cols: 80 } }))
  await new Promise<void>((resolve, reject) => socket.once('open', resolve).once('error', reject))
  socket.terminate()
})
