/**
 * Files: the time of a small read and write, the speed of large ones, against copying on the same disk and nginx.
 *
 *     node test/bench/files.ts [--json]        half a minute; needs curl, and nginx for its rows
 */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect, createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { measuredDaemon, type MeasuredDaemon } from './daemon.ts'
import { percentile, report, row, type Row } from './report.ts'

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

/** Milliseconds of each of `count` runs. */
const times = async (count: number, task: () => Promise<unknown>): Promise<number[]> => {
  const samples: number[] = []
  for (let index = 0; index < count; index++) {
    const from = performance.now()
    await task()
    samples.push(performance.now() - from)
  }
  return samples
}

/** Megabytes a second of the best of a few runs. */
const speed = async (task: () => Promise<unknown>): Promise<number> =>
  megabytes / (Math.min(...(await times(rounds, task))) / 1000)

const small = async (daemon: MeasuredDaemon): Promise<Row[]> => {
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

/** nginx serving `dir`, or undefined where it is not installed. */
const nginx = async (dir: string): Promise<{ url: string; close: () => Promise<void> } | undefined> => {
  const binary = ['/usr/sbin/nginx', '/usr/bin/nginx'].find(existsSync)
  if (!binary) return undefined
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  await new Promise(resolve => probe.close(resolve))
  const own = join(dir, 'nginx')
  mkdirSync(own)
  writeFileSync(
    join(own, 'nginx.conf'),
    `daemon off; worker_processes 1; pid ${own}/pid; error_log ${own}/error.log; ${process.getuid?.() === 0 ? 'user root;' : ''}
events {}
http { access_log off; sendfile on; client_body_temp_path ${own}/body; proxy_temp_path ${own}/proxy;
  fastcgi_temp_path ${own}/fastcgi; uwsgi_temp_path ${own}/uwsgi; scgi_temp_path ${own}/scgi;
  server { listen 127.0.0.1:${port}; root ${dir}; } }
`,
  )
  const child = spawn(binary, ['-p', own, '-c', join(own, 'nginx.conf')], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  const answers = async () => {
    const socket = connect(port, '127.0.0.1')
    try {
      await once(socket, 'connect')
      return true
    } catch {
      return false
    } finally {
      socket.destroy()
    }
  }
  while (child.exitCode === null && !(await answers()));
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      child.kill('SIGQUIT')
      await exited
    },
  }
}

const large = async (daemon: MeasuredDaemon): Promise<Row[]> => {
  const { dir, url } = daemon
  const path = join(dir, 'large.bin')
  execFileSync('dd', ['if=/dev/urandom', `of=${path}`, 'bs=1M', `count=${megabytes}`], { stdio: 'ignore' })
  const copy = await speed(() => run('dd', [`if=${path}`, `of=${join(dir, 'copy.bin')}`, 'bs=1M']))
  const rival = await nginx(dir)
  const theirs = rival ? await speed(() => curl(`${rival.url}/large.bin`)) : null
  await rival?.close()
  const down = await speed(() => curl(`${url}/filesystem/large.bin?download=true`))
  const put = (name: string) => ['-X', 'PUT', `${url}/filesystem/${name}`]
  const raw = await speed(() => curl('-T', path, '-H', 'content-type: application/octet-stream', ...put('raw.bin')))
  const form = await speed(() => curl('-F', `file=@${path}`, ...put('form.bin')))
  const rows = [
    row('files.download', down, 'MB/s', theirs ?? copy),
    row('files.upload.raw', raw, 'MB/s', copy),
    row('files.upload.form', form, 'MB/s', copy),
  ]
  if (statSync(join(dir, 'form.bin')).size !== megabytes * 1024 * 1024) throw new Error('the upload is not whole')
  return rows
}

/** Parts of 5 MiB, three at a time, as clients send them; against the same bytes in one request by the same client. */
const multipart = async (daemon: MeasuredDaemon): Promise<Row[]> => {
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

export const filesBench = async (): Promise<Row[]> => {
  const daemon = await measuredDaemon()
  try {
    const rows: Row[] = []
    for (const measure of [small, large, multipart]) rows.push(...(await measure(daemon)))
    rows.push(row('files.memory-after', daemon.memory() / 1024 / 1024, 'MB'))
    return rows
  } finally {
    agent.destroy()
    await daemon.close()
  }
}

if (import.meta.main) {
  if (!existsSync('/usr/sbin/nginx') && !existsSync('/usr/bin/nginx'))
    process.stderr.write('nginx is not installed: files.download is measured against copying the file\n')
  report(await filesBench(), {
    json: process.argv.includes('--json'),
    write: line => void process.stdout.write(`${line}\n`),
  })
}
