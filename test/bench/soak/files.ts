/** What a round does with files. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { many, type Client } from './client.ts'

const MiB = 1024 * 1024
const large = 256
const form = 64
const parts = 12
const directories = 200
const filesEach = 10

const boundary = '----formdata-undici-0123456789012345'
const formHeaders = { 'content-type': `multipart/form-data; boundary=${boundary}` }
const block = Buffer.alloc(MiB, 'x')
const before = Buffer.from(
  `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="blob"\r\nContent-Type: application/octet-stream\r\n\r\n`,
)
const after = Buffer.from(`\r\n--${boundary}--\r\n`)
const blocks = (count: number): Buffer[] => Array<Buffer>(count).fill(block)

/** Up as raw bytes and as a form, and down again. */
export const transfer = async (client: Client): Promise<void> => {
  await client.drain('PUT', '/filesystem/large.bin', Readable.from(blocks(large)))
  await client.drain('PUT', '/filesystem/form.bin', Readable.from([before, ...blocks(form), after]), formHeaders)
  for (const [name, size] of [
    ['large.bin', large],
    ['form.bin', form],
  ] as const) {
    const read = await client.drain('GET', `/filesystem/${name}?download=true`)
    if (read !== size * MiB) throw new Error(`${read} bytes of ${name} came back`)
  }
}

/** Parts of 5 MiB, three at a time. */
export const inParts = async (client: Client): Promise<void> => {
  const base = '/filesystem-multipart'
  const { uploadId } = await client.json('POST', `${base}/initiate/parts.bin`, {})
  const sent: unknown[] = []
  await many(parts, 3, async index => {
    const body = Buffer.concat([before, ...blocks(5), after])
    const answer = await client.open('PUT', `${base}/${uploadId}/part?partNumber=${index + 1}`, body, formHeaders)
    sent.push(JSON.parse(String(Buffer.concat(await Readable.from(answer).toArray()))))
  })
  await client.json('POST', `${base}/${uploadId}/complete`, { parts: sent })
}

/** Small files as an editor reads and writes them. */
export const small = (client: Client): Promise<void> =>
  many(200, 8, async index => {
    const path = `/filesystem/small/${index % 20}.txt`
    await client.json('PUT', path, { content: `line of ${index}\n`.repeat(1 + (index % 7) * 100) })
    await client.json('GET', path)
    await client.json('GET', '/filesystem/small')
  })

const install = [
  'rm -rf pkg; i=0',
  `while [ $i -lt ${directories} ]; do mkdir -p pkg/p$i/lib`,
  `for j in $(seq ${filesEach}); do echo "const needle$j = require($i)" > pkg/p$i/lib/f$j.js; done`,
  'i=$((i+1)); done; sync pkg/p0',
].join('\n')

/** Somebody watches while packages are installed, in the way of a package manager: many small files in many directories. */
export const watchedInstall = async (client: Client): Promise<void> => {
  await client.json('PUT', '/filesystem/pkg', { isDirectory: true })
  const watches = await Promise.all(
    Array.from({ length: 4 }, () => client.open('GET', '/watch/filesystem/**?ignore=nothing')),
  )
  let seen = 0
  for (const watch of watches) watch.on('data', (piece: Buffer) => (seen += piece.length))
  const ended = watches.map(watch => once(watch, 'close').catch(() => undefined))
  const { exitCode } = await client.json('POST', '/process', { command: install, waitForCompletion: true })
  if (exitCode !== 0) throw new Error(`the install ended with ${exitCode}`)
  for (const watch of watches) watch.destroy()
  await Promise.all(ended)
  if (seen === 0) throw new Error('nothing was watched')
}

/** Finds by name, by likeness and by content in what was installed, and once in large files too. */
export const search = async (client: Client): Promise<void> => {
  await many(10, 4, async index => {
    await client.json('GET', `/filesystem-find/pkg?patterns=f${index % 10}*.js&maxResults=0`)
    await client.json('GET', `/filesystem-search/pkg?query=p${index}f3&maxResults=100`)
    await client.json('GET', `/filesystem-content-search/pkg?query=needle${index % 10}&maxResults=1000`)
  })
  await client.json('GET', '/filesystem-content-search/?query=needle&filePattern=*.bin')
}

/** The installed tree travels down and up again, with and without compression. */
export const archives = async (client: Client): Promise<void> => {
  for (const query of ['', '?gzip=true']) {
    const archive = await client.open('GET', `/filesystem-archive/pkg${query}`)
    await client.json('PUT', '/filesystem/copy', { isDirectory: true })
    await client.drain('PUT', '/filesystem-archive/copy', archive)
    await client.json('DELETE', '/filesystem/copy?recursive=true')
  }
  await client.drain('GET', '/filesystem-archive/form.bin?gzip=true')
}

/** What goes wrong: uploads and downloads cut in the middle, bodies that are no JSON, addresses that are none. */
export const abuse = async (client: Client): Promise<void> => {
  const { port } = new URL(client.url)
  await many(100, 10, async index => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => undefined) // The daemon may cut it first.
    await once(socket, 'connect')
    const target = ['PUT /filesystem/cut.bin', 'PUT /filesystem-archive/cut', 'POST /process', 'POST /mcp'][index % 4]
    socket.write(
      `${target} HTTP/1.1\r\nhost: x\r\ncontent-type: application/octet-stream\r\ncontent-length: 1000000\r\n\r\n`,
    )
    socket.write(block.subarray(0, 300_000))
    const download = connect(Number(port), '127.0.0.1')
    download.on('error', () => undefined)
    await once(download, 'connect')
    download.write('GET /filesystem/large.bin?download=true HTTP/1.1\r\nhost: x\r\n\r\n')
    await once(download, 'readable')
    socket.destroy()
    download.destroy()
  })
  await many(200, 10, async index => {
    const [method, path, body] = [
      ['POST', '/process', '{"command":'],
      ['PUT', '/filesystem/x', '[]'],
      ['GET', '/process/no-such', undefined],
      ['GET', '/nowhere', undefined],
      ['POST', '/mcp', '{"jsonrpc":"1.0"}'],
    ][index % 5] as [string, string, string | undefined]
    const refused = await client.drain(method, path, body).then(
      () => false,
      () => true,
    )
    if (!refused) throw new Error(`${method} ${path} was taken`)
  })
}
