/**
 * Files: the time of a small read and write, the speed of large ones, against copying on the same disk and nginx.
 */
import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, statSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { measuredDaemon, type MeasuredDaemon } from './daemon.ts'
import { times, type Bench } from './measure.ts'
import { nginx, noNginx } from './nginx.ts'
import { percentile, row, type Row } from './report.ts'

const run = promisify(execFile)
const agent = new Agent({ keepAlive: true })
const megabytes = 256
const rounds = 3
const octets = { 'content-type': 'application/octet-stream' }

const ask = async (
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string | Buffer } = {},
): Promise<Buffer> => {
  const { method = 'GET', headers = {}, body } = options
  const asked = request(url, { method, agent, headers })
  asked.end(body)
  const [answer] = await once(asked, 'response')
  const bytes = await buffer(answer)
  if (answer.statusCode !== 200) throw new Error(`${method} ${url}: ${answer.statusCode} ${bytes}`)
  return bytes
}

/** Megabytes a second of the best of a few runs. */
const speed = async (task: () => Promise<unknown>): Promise<number> =>
  megabytes / (Math.min(...(await times(rounds, task))) / 1000)

const small = async (_bench: Bench, daemon: MeasuredDaemon): Promise<Row[]> => {
  const url = `${daemon.url}/filesystem/small.txt`
  const body = JSON.stringify({ content: 'hello world' })
  const write = () => ask(url, { method: 'PUT', body })
  const read = () => ask(url)
  const nothing = () => ask(`${daemon.url}/health`)
  for (const warm of [write, read, nothing]) await times(500, warm)
  const floor = percentile(await times(1_000, nothing), 0.5)
  return [
    row('files.json-write.p50', percentile(await times(1_000, write), 0.5), 'ms', floor),
    row('files.json-read.p50', percentile(await times(1_000, read), 0.5), 'ms', floor),
  ]
}

const curl = (...args: string[]) => run('curl', ['-sSf', '-o', '/dev/null', ...args])

const large = async (bench: Bench, daemon: MeasuredDaemon): Promise<Row[]> => {
  const { dir, url } = daemon
  const path = join(dir, 'large.bin')
  execFileSync('dd', ['if=/dev/urandom', `of=${path}`, 'bs=1M', `count=${megabytes}`], { stdio: 'ignore' })
  const copy = await speed(() => run('dd', [`if=${path}`, `of=${join(dir, 'copy.bin')}`, 'bs=1M']))
  const rival = await nginx(bench, '', `root ${dir};`)
  if (!rival) bench.skip('files.download: floor', noNginx)
  const theirs = rival ? await speed(() => curl(`${rival.url}/large.bin`)) : null
  const down = await speed(() => curl(`${url}/filesystem/large.bin?download=true`))
  const put = (name: string) => ['-X', 'PUT', `${url}/filesystem/${name}`]
  const raw = await speed(() => curl('-T', path, '-H', 'content-type: application/octet-stream', ...put('raw.bin')))
  const form = await speed(() => curl('-F', `file=@${path}`, ...put('form.bin')))
  const rows = [
    row('files.download', down, 'MB/s', theirs),
    row('files.upload.raw', raw, 'MB/s', copy),
    row('files.upload.form', form, 'MB/s', copy),
  ]
  if (statSync(join(dir, 'form.bin')).size !== megabytes * 1024 * 1024) throw new Error('the upload is not whole')
  return rows
}

/** Parts of 5 MiB, three at a time, as clients send them; against the same bytes in one request by the same client. */
const multipart = async (_bench: Bench, daemon: MeasuredDaemon): Promise<Row[]> => {
  const { url, dir } = daemon
  const part = Buffer.alloc(5 * 1024 * 1024, 'x')
  const count = Math.ceil(megabytes / 5)
  const whole = Buffer.alloc(part.length * count, 'x')
  // As long as those of real clients: the search for it skips by its length.
  const boundary = '----formdata-undici-0123456789012345'
  const between = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="blob"\r\n\r\n`
  const wrap = (content: Buffer) =>
    Buffer.concat([Buffer.from(between), content, Buffer.from(`\r\n--${boundary}--\r\n`)])
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
  const body = wrap(part)
  const inParts = async () => {
    const base = `${url}/filesystem-multipart`
    const { uploadId } = JSON.parse(String(await ask(`${base}/initiate/parts.bin`, { method: 'POST' })))
    const parts: unknown[] = []
    for (let from = 1; from <= count; from += 3)
      await Promise.all(
        [0, 1, 2].map(async step => {
          if (from + step > count) return
          const target = `${base}/${uploadId}/part?partNumber=${from + step}`
          parts.push(JSON.parse(String(await ask(target, { method: 'PUT', headers, body }))))
        }),
      )
    await ask(`${base}/${uploadId}/complete`, { method: 'POST', body: JSON.stringify({ parts }) })
  }
  const oneForm = wrap(whole)
  const form = await speed(() => ask(`${url}/filesystem/one.bin`, { method: 'PUT', headers, body: oneForm }))
  const raw = await speed(() => ask(`${url}/filesystem/one.bin`, { method: 'PUT', headers: octets, body: whole }))
  const parts = await speed(inParts)
  for (const name of ['parts.bin', 'one.bin']) rmSync(join(dir, name))
  return [row('files.multipart', parts, 'MB/s', form), row('files.multipart-against-raw', parts, 'MB/s', raw)]
}

export const filesBench = async (bench: Bench): Promise<Row[]> => {
  const daemon = await measuredDaemon(bench)
  bench.later('agent', () => agent.destroy())
  const rows: Row[] = []
  for (const [name, measure] of Object.entries({ small, large, multipart })) {
    bench.say(name)
    rows.push(...(await measure(bench, daemon)))
  }
  return [...rows, row('files.memory-after', (await daemon.memoryAtRest()) / 1024 / 1024, 'MB')]
}
