/**
 * Requests that are bad and requests that are given up, hundreds of each family: afterwards the daemon has the descriptors
 * that it had before.
 */
import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { realDaemon, type RealDaemon } from '../support/real-daemon.ts'
import { until } from '../support/until.ts'

const shots = 200
const width = 12

/** When the client goes: after the whole answer, when it has begun, or as soon as the request is sent. */
type Until = 'answer' | 'begun' | 'sent'
type Shot = readonly [until: Until, line: string, body?: string, type?: string]

const long = 'x'.repeat(200_000)
const part = (rest: string) => `--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n${rest}`
const form = 'multipart/form-data; boundary=b'
const octets = 'application/octet-stream'
/** Sent as the length of a body of which less comes. */
const promised = 1_000_000

/** As a request of its own connection; a shot that does not wait for its answer promises more than it sends. */
const textOf = ([end, line, body = '', type = 'application/json']: Shot): string => {
  const length = end === 'sent' ? promised : Buffer.byteLength(body)
  const accept = line.endsWith('/mcp') ? 'application/json, text/event-stream' : '*/*'
  return `${line} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\naccept: ${accept}\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n${body}`
}

const families: Readonly<Record<string, readonly Shot[]>> = {
  files: [
    ['answer', 'PUT /filesystem/a.txt', '{"content":'],
    ['answer', 'PUT /filesystem/a.txt', '[]'],
    ['answer', 'PUT /filesystem/large.bin/below', '{"content":""}'],
    ['answer', 'PUT /filesystem/form', 'no form', form],
    ['answer', 'GET /filesystem/none'],
    ['answer', 'DELETE /filesystem/none'],
    ['begun', 'GET /filesystem/large.bin?download=true'],
    ['begun', 'GET /filesystem/large.bin'],
    ['sent', 'PUT /filesystem/cut.bin', long, octets],
    ['sent', 'PUT /filesystem/cut.form', part(long), form],
    ['sent', 'PUT /filesystem/cut.json', `{"content":"${long}`],
    ['sent', 'PUT /filesystem/tree/tmp', '{"files":{'],
  ],
  archives: [
    ['answer', 'PUT /filesystem-archive/copy', 'no archive', octets],
    ['answer', 'GET /filesystem-archive/none'],
    ['begun', 'GET /filesystem-archive/large.bin'],
    ['begun', 'GET /filesystem-archive/large.bin?gzip=true'],
    ['sent', 'PUT /filesystem-archive/copy', '\x1f\x8b\x08', octets],
    ['sent', 'PUT /filesystem-archive/copy', long, octets],
  ],
  multipart: [
    ['answer', 'POST /filesystem-multipart/initiate/x', '{"permissions":"9"}'],
    ['answer', 'PUT /filesystem-multipart/none/part?partNumber=1', `${part('x')}\r\n--b--\r\n`, form],
    ['answer', 'PUT /filesystem-multipart/none/part?partNumber=x', 'x', form],
    ['answer', 'POST /filesystem-multipart/none/complete', '{"parts":7}'],
    ['sent', 'PUT /filesystem-multipart/UPLOAD/part?partNumber=1', part(long), form],
  ],
  search: [
    ['answer', 'GET /filesystem-find/none?patterns=['],
    ['answer', 'GET /filesystem-content-search/none?query=x'],
    ['answer', 'GET /filesystem-search/'],
    ['begun', 'GET /filesystem-content-search/deep?query=xx&maxResults=0'],
  ],
  watch: [
    ['answer', 'GET /watch/filesystem/none'],
    ['answer', 'GET /watch/filesystem/large.bin'],
    ['begun', 'GET /watch/filesystem/**'],
    ['begun', 'GET /watch/filesystem/deep'],
  ],
  processes: [
    ['answer', 'POST /process', '{"command":7}'],
    ['answer', 'POST /process', '{"command":"x","workingDir":"/none"}'],
    ['answer', 'GET /process/none'],
    ['answer', 'POST /process/none/stdin', 'x'],
    ['answer', 'DELETE /process/none/kill'],
    ['begun', 'GET /process/quiet/logs/stream'],
    ['begun', 'GET /process/quiet/logs/stream?stream=events'],
    ['sent', 'POST /process', '{"command":"true"'],
    ['sent', 'POST /process/quiet/stdin', long, octets],
  ],
  network: [
    ['answer', 'GET /network/process/x/ports'],
    ['answer', 'POST /network/process/1073741824/monitor', '{"callback":7}'],
    ['answer', 'DELETE /network/process/x/monitor'],
    ['answer', 'PUT /network/tunnel/config', '{"config":"e30="}'],
    ['sent', 'PUT /network/tunnel/config', '{"config":"'],
  ],
  tools: [
    ['answer', 'POST /mcp', '{"jsonrpc":"1.0"}'],
    ['answer', 'POST /mcp', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none"}}'],
    ['answer', 'PUT /codegen/fastapply/a', '{"codeEdit":7}'],
    ['answer', 'GET /codegen/reranking/none?query='],
    ['answer', 'POST /drives/mount', '{"driveName":"../.."}'],
    ['answer', 'POST /environment/reload', '['],
    ['sent', 'POST /mcp', '{"jsonrpc":"2.0","id":1,"method":"tools/list"'],
  ],
  pages: [
    ['answer', 'GET /nowhere'],
    ['answer', 'PATCH /process'],
    ['answer', 'GET /swagger/none'],
    ['answer', 'GET /%ff%00'],
    ['begun', 'GET /terminal'],
    ['sent', 'GET /swagger/openapi.json'],
  ],
}

/** Sends a request of its own connection and goes when it is time. */
const fire = async (port: number, text: string, end: Until): Promise<void> => {
  const socket = connect(port, '127.0.0.1')
  // The daemon may be the first to cut it.
  socket.on('error', () => undefined)
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
  socket.resume()
  await new Promise<void>((resolve, reject) => {
    // No answer at all is a failure that says which.
    const patience = setTimeout(() => reject(new Error(`no answer: ${text.slice(0, 100)}`)), 60_000)
    void closed.then(() => clearTimeout(patience))
    void closed.then(resolve)
    if (end === 'begun') socket.once('data', () => resolve())
    socket.write(Buffer.from(text, 'latin1'), () => end === 'sent' && resolve())
  })
  socket.destroy()
  await closed
}

/** What the daemon has open, by kind and in order, without the files that it makes ahead for processes to come. */
const open = ({ pid, dir }: RealDaemon): string[] => {
  const targets = readdirSync(`/proc/${pid}/fd`).flatMap(fd => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)]
    } catch {
      // Closed since it was listed.
      return []
    }
  })
  const isAhead = (target: string) => target.endsWith(' (deleted)') && !target.startsWith(join(dir, 'work'))
  return targets
    .filter(target => !isAhead(target))
    .map(target => target.replace(/\d+/g, 'N'))
    .sort()
}

const post = async ({ url }: RealDaemon, path: string, body: object) => {
  const answer = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return answer.json() as Promise<Record<string, string>>
}

const started = await realDaemon(t, { DISABLE_REQUEST_LOGGING: 'true' })
const port = Number(new URL(started.url).port)
mkdirSync(join(started.dir, 'work/deep/er'), { recursive: true })
writeFileSync(join(started.dir, 'work/large.bin'), Buffer.alloc(4 * 1024 * 1024, 'x'))
const { uploadId } = await post(started, '/filesystem-multipart/initiate/parts.bin', {})
await post(started, '/process', { name: 'quiet', command: 'echo ready; exec cat >/dev/null', stdin: true })

const fireAll = async (list: readonly Shot[], count: number): Promise<void> => {
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count) {
      const shot = list[next++ % list.length] as Shot
      await fire(port, textOf(shot).replaceAll('UPLOAD', String(uploadId)), shot[0])
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, count) }, lane))
}

/** Waits until what is open is `before`; then, or after a minute, says what is open. */
const settled = async (before: readonly string[]): Promise<string[]> => {
  const same = async () => open(started).join() === before.join()
  // The comparison that follows tells what differs.
  await until(same, 'the descriptors').catch(() => undefined)
  return open(started)
}

/** What is open when that has not changed for a while: what is loaded late has been loaded. */
const steady = async (): Promise<string[]> => {
  let last = open(started)
  let since = performance.now()
  await until(async () => {
    const now = open(started)
    if (now.join() !== last.join()) since = performance.now()
    last = now
    return performance.now() - since > 3_000
  }, 'the daemon to be quiet')
  return last
}

t.test('every family leaves the descriptors as they were', async t => {
  // All of it once: code, threads and tables that stay are there before anything is counted.
  for (const list of Object.values(families)) await fireAll(list, list.length * 2)
  const before = await steady()
  t.notOk(
    before.some(target => /large|cut|parts/.test(target)),
    'nothing of the requests is open',
  )
  for (const [name, list] of Object.entries(families)) {
    await fireAll(list, shots)
    t.same(await settled(before), before, name)
  }
  t.equal((await fetch(`${started.url}/health`, { headers: { connection: 'close' } })).status, 200)
})
