/** What is kept of packages on the disk, after whatever has happened to it. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openPackageCache, type PackageCache, type Wanted } from '../../../../control/network/egress/packages/cache.ts'
import { systemClock } from '../../../../shared/clock.ts'
import { randomIds } from '../../../../shared/ids.ts'
import { silentLog } from '../../../../shared/log.ts'
import { until } from '../../../support/until.ts'

const hosts = [{ kind: 'go', host: 'go.example' }] as const
const deps = { clock: systemClock(), ids: randomIds(), log: silentLog }
const open = (directory: string, maxBytes = 1_000_000) => openPackageCache({ directory, hosts, maxBytes }, deps)

const wanted = (version: string): Wanted => ({
  kind: 'go',
  host: 'go.example',
  path: `/m/@v/v1.0.${version}.zip`,
  said: { accept: '', acceptEncoding: '' },
})

const put = async (cache: PackageCache, version: string, text: string): Promise<void> => {
  const arriving = cache.receive(wanted(version), ['content-type', 'application/zip'], text.length)
  if (!arriving) throw new Error('no place')
  for (let at = 0; at < text.length; at += 1000) arriving.write(Buffer.from(text.slice(at, at + 1000)))
  await arriving.keep()
}

/** The body, or undefined when it is not there as it was. */
const read = async (cache: PackageCache, version: string): Promise<string | undefined> => {
  const kept = cache.find(wanted(version))
  const file = kept && (await cache.open(wanted(version), kept))
  if (!file) return undefined
  const text = await file.readFile('utf8')
  await file.close()
  return text
}

const names = (directory: string, part: string) => readdirSync(join(directory, part))
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

t.test('it is there after a restart, whatever was being written', async t => {
  const directory = t.testdir()
  const cache = open(directory)
  await put(cache, '1', 'one'.repeat(1000))
  await put(cache, '2', 'one'.repeat(1000))
  t.equal(names(directory, 'blobs').length, 1, 'one body for both')
  // What a kill leaves: a body that was coming, one that nobody names yet, and a name that was being written.
  writeFileSync(join(directory, 'new', 'abc'), 'half')
  writeFileSync(join(directory, 'blobs', sha256('nobody')), 'nobody')
  const again = open(directory)
  t.equal(await read(again, '1'), 'one'.repeat(1000))
  t.equal(await read(again, '2'), 'one'.repeat(1000))
  t.same(names(directory, 'new'), [])
  t.same(names(directory, 'blobs'), [sha256('one'.repeat(1000))])
})

t.test('only so many answers are remembered, and none with much beside it', async t => {
  const cache = openPackageCache({ directory: t.testdir(), hosts, maxBytes: 1_000_000 }, { ...deps, maxAnswers: 2 })
  for (const version of ['1', '2', '3']) await put(cache, version, version)
  t.same([await read(cache, '1'), await read(cache, '2'), await read(cache, '3')], [undefined, '2', '3'])
  const long = { ...wanted('4'), path: `/m/@v/${'x'.repeat(9_000)}.zip` }
  const arriving = cache.receive(long, [], 1)
  arriving?.write(Buffer.from('x'))
  await arriving?.keep()
  t.equal(cache.find(long), undefined)
  t.equal(await read(cache, '3'), '3', 'and nothing else goes for its sake')
})

t.test('what is not what it was is not given out', async t => {
  const directory = t.testdir()
  const cache = open(directory)
  for (const each of ['1', '2', '3', '4']) await put(cache, each, `body ${each}`)
  const blob = (each: string) => join(directory, 'blobs', sha256(`body ${each}`))
  writeFileSync(blob('1'), 'BODY 1')
  truncateSync(blob('2'))
  const again = open(directory)
  t.equal(await read(again, '1'), undefined, 'of the same length, but other bytes')
  t.equal(again.find(wanted('1')), undefined, 'and it is forgotten')
  t.equal(await read(again, '2'), undefined)
  t.equal(await read(again, '3'), 'body 3')
  for (const name of names(directory, 'answers')) writeFileSync(join(directory, 'answers', name), '{"key":')
  mkdirSync(join(directory, 'answers', 'a directory'))
  const emptied = open(directory)
  t.equal(await read(emptied, '3'), undefined)
  t.same([names(directory, 'answers'), names(directory, 'blobs')], [[], []])
})

t.test('what was longest not used goes first, also after a restart', async t => {
  const directory = t.testdir()
  const cache = open(directory, 1_000_000)
  const big = (each: string) => each.repeat(200_000)
  for (const each of ['1', '2', '3']) await put(cache, each, big(each))
  t.equal(await read(cache, '1'), big('1'))
  await put(cache, '4', big('4'))
  t.same([cache.find(wanted('2')), await read(cache, '1')], [undefined, big('1')])
  const old = names(directory, 'answers').find(
    name => name === `${sha256(JSON.stringify(['https://go.example/m/@v/v1.0.4.zip', '', '']))}.json`,
  )
  utimesSync(join(directory, 'answers', old as string), 1, 1)
  const again = open(directory, 1_000_000)
  await put(again, '5', big('5'))
  t.equal(again.find(wanted('4')), undefined)
  t.equal(await read(again, '1'), big('1'))
  const smaller = open(directory, 400_000)
  t.ok(names(directory, 'blobs').length <= 1, 'and a smaller room is kept to')
  t.equal(smaller.receive(wanted('6'), [], 200_000), undefined, 'what has no room is not begun')
})

const cutShort = async (t: Test, end: (arriving: { write(piece: Buffer): void; drop(): void }) => void) => {
  const directory = t.testdir()
  const cache = open(directory)
  const arriving = cache.receive(wanted('1'), [], 10)
  if (!arriving) throw new Error('no place')
  arriving.write(Buffer.from('12345'))
  end(arriving)
  await until(() => names(directory, 'new').length === 0, 'the half is gone')
  t.equal(cache.find(wanted('1')), undefined)
  await until(() => cache.receive(wanted('2'), [], 250_000) !== undefined, 'its place is free again')
}

t.test('an answer that breaks off leaves nothing', t => cutShort(t, arriving => arriving.drop()))
t.test('nor does one that is longer than it said', t => cutShort(t, arriving => arriving.write(Buffer.alloc(100))))

t.test('a disk that takes nothing costs the packages and no request', async t => {
  const directory = t.testdir()
  const cache = open(directory)
  const blocked = join(directory, 'blobs', sha256('12345'))
  mkdirSync(join(blocked, 'x'), { recursive: true })
  await put(cache, '1', '12345')
  t.equal(cache.find(wanted('1')), undefined)
  t.notOk(existsSync(join(directory, 'new', '12345')))
  t.same(names(directory, 'new'), [])
})
