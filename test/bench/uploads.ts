/**
 * Large files into a sandbox, against copying them on the same disk. The client is curl, one process each time: it costs
 * less than the daemon, so that it is the daemon that is measured. For parts it is curl with several transfers at once.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, openSync, readFileSync, readSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { find } from './child.ts'
import type { MeasuredDaemon } from './daemon.ts'
import { inTurns, timeOf, type Bench } from './measure.ts'
import { row, type Row } from './report.ts'

const run = promisify(execFile)
const megabytes = 256
const rounds = 5
const partBytes = 5 * 1024 * 1024

/** Megabytes a second of the best round: what else the machine does only makes it worse. */
const best = (samples: readonly number[]): number => megabytes / (Math.min(...samples) / 1000)

const options = ['-sSf', '-o', '/dev/null', '-H', 'expect:']

/** The parts of `source` as files. */
const cut = (dir: string, source: string): string[] => {
  const from = openSync(source, 'r')
  const piece = Buffer.alloc(partBytes)
  const names: string[] = []
  for (let count; (count = readSync(from, piece)) > 0; ) {
    const name = join(dir, `piece.${names.length}`)
    writeFileSync(name, piece.subarray(0, count))
    names.push(name)
  }
  closeSync(from)
  return names
}

/** Initiates, sends the parts with so many at once, completes; as clients do, with the etags that come back. */
const inParts = async (daemon: MeasuredDaemon, pieces: readonly string[], atOnce: number): Promise<void> => {
  const { url, dir } = daemon
  const base = `${url}/filesystem-multipart`
  const started = await fetch(`${base}/initiate/parts.bin`, { method: 'POST' })
  const { uploadId } = (await started.json()) as { uploadId: string }
  const answers = join(dir, 'answers')
  const transfers = pieces.map((piece, index) =>
    [
      `url = "${base}/${uploadId}/part?partNumber=${index + 1}"`,
      'request = PUT',
      'header = "expect:"',
      `form = "file=@${piece}"`,
      `output = "${answers}.${index}"`,
    ].join('\n'),
  )
  writeFileSync(join(dir, 'transfers'), transfers.join('\nnext\n'))
  await run('curl', ['-sSf', '-Z', '--parallel-max', String(atOnce), '-K', join(dir, 'transfers')])
  const parts = pieces.map((_, index) => JSON.parse(readFileSync(`${answers}.${index}`, 'utf8')))
  const done = await fetch(`${base}/${uploadId}/complete`, { method: 'POST', body: JSON.stringify({ parts }) })
  if (done.status !== 200) throw new Error(`complete: ${done.status} ${await done.text()}`)
}

const digestOf = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex')

export const uploads = async (bench: Bench, daemon: MeasuredDaemon): Promise<Row[]> => {
  if (!find('curl')) {
    bench.skip('files.upload.*', 'needs curl: apt-get install curl')
    return []
  }
  const { dir, url } = daemon
  const source = join(dir, 'large.bin')
  await run('dd', ['if=/dev/urandom', `of=${source}`, 'bs=1M', `count=${megabytes}`])
  const pieces = cut(dir, source)
  const names = ['copy', 'raw', 'form', 'parts'].map(name => join(dir, `${name}.bin`))
  // A file that is written anew costs more than one whose pages are there: all begin without.
  const fresh = async (task: () => Promise<unknown>) => {
    for (const name of names) rmSync(name, { force: true })
    return timeOf(task)
  }
  const copy = (...more: string[]) => run('dd', [`if=${source}`, `of=${join(dir, 'copy.bin')}`, 'bs=1M', ...more])
  const octets = 'content-type: application/octet-stream'
  const raw = (...more: string[]) =>
    run('curl', [...options, ...more, '-T', source, '-H', octets, `${url}/filesystem/raw.bin`])
  const form = (...more: string[]) =>
    run('curl', [...options, ...more, '-X', 'PUT', '-F', `file=@${source}`, `${url}/filesystem/form.bin`])
  const chunks = ['-H', 'transfer-encoding: chunked']
  const samples = await inTurns(rounds, {
    copy: () => fresh(() => copy()),
    raw: () => fresh(() => raw()),
    form: () => fresh(() => form()),
    rawInChunks: () => fresh(() => raw(...chunks)),
    formInChunks: () => fresh(() => form(...chunks)),
    three: () => fresh(() => inParts(daemon, pieces, 3)),
    eight: () => fresh(() => inParts(daemon, pieces, 8)),
  })
  const durable = await inTurns(rounds, {
    copy: () => fresh(() => copy('conv=fdatasync')),
    raw: () => fresh(async () => [await raw(), await run('sync', [join(dir, 'raw.bin')])]),
  })
  await Promise.all([raw(), form(), inParts(daemon, pieces, 3)])
  const digest = digestOf(source)
  for (const name of ['raw', 'form', 'parts'])
    if (digestOf(join(dir, `${name}.bin`)) !== digest) throw new Error(`${name}.bin is not what was sent`)
  for (const name of [...names, ...pieces]) rmSync(name, { force: true })
  const floor = best(samples.copy)
  const oneForm = best(samples.form)
  return [
    row('files.upload.raw', best(samples.raw), 'MB/s', floor),
    row('files.upload.form', oneForm, 'MB/s', floor),
    row('files.upload.raw-in-chunks', best(samples.rawInChunks), 'MB/s', floor),
    row('files.upload.form-in-chunks', best(samples.formInChunks), 'MB/s', floor),
    row('files.upload.durable', best(durable.raw), 'MB/s', best(durable.copy)),
    row('files.multipart', best(samples.three), 'MB/s', oneForm),
    row('files.multipart.against-copy', best(samples.three), 'MB/s', floor),
    row('files.multipart.eight-at-once', best(samples.eight), 'MB/s', oneForm),
  ]
}
