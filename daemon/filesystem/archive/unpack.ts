/** Unpacks a tar stream, gzip or not, into a directory. */
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { errno, fail, isError, messageOf } from '../../../shared/errors.ts'
import type { FilePort } from '../port.ts'
import { tarEntries } from './tar/read.ts'
import type { WholeFiles } from '../whole/whole.ts'
import { unpackEntry, type Unpacking } from './unpack-entry.ts'

interface Unpacked {
  readonly entries: number
  /** Of content. */
  readonly bytes: number
}

const gzipMagic = (head: Buffer) => head[0] === 0x1f && head[1] === 0x8b

/** The chunks of a body. It stays open when the reader stops early, since its client waits for an answer. */
async function* chunksOf(body: Readable, head: Buffer[] = []): AsyncGenerator<Buffer, void, void> {
  yield* head
  yield* body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
}

/** The first bytes of a body, enough to recognise gzip, in the chunks they came in. */
const headOf = async (body: Readable): Promise<Buffer[]> => {
  const head: Buffer[] = []
  for await (const chunk of chunksOf(body)) {
    head.push(chunk)
    if (head.length > 1 || chunk.length > 1) break
  }
  return head
}

/** The archive itself, through gunzip when its first bytes say so. */
const plainOf = async (body: Readable): Promise<AsyncGenerator<Buffer, void, void>> => {
  const head = await headOf(body)
  const chunks = chunksOf(body, head)
  if (!gzipMagic(Buffer.concat(head))) return chunks
  return inflated(chunks)
}

async function* inflated(chunks: AsyncGenerator<Buffer, void, void>): AsyncGenerator<Buffer, void, void> {
  const source = Readable.from(chunks, { objectMode: false, highWaterMark: 1024 * 1024 })
  const gunzip = createGunzip({ chunkSize: 256 * 1024 })
  source.on('error', error => gunzip.destroy(error))
  source.pipe(gunzip)
  try {
    yield* gunzip as AsyncIterable<Buffer>
  } finally {
    source.destroy()
    gunzip.destroy()
  }
}

/**
 * Throws `invalid_argument` when it is no archive or would leave the directory, else system errors; what was unpacked
 * stays.
 */
export const unpack = async (
  { port, whole }: { port: FilePort; whole: WholeFiles },
  root: string,
  body: Readable,
  options: { owners: boolean },
): Promise<Unpacked> => {
  await port.mkdir(root, 0o755)
  // The client may have named it by a link; below it links are not followed.
  const real = await port.realpath(root)
  const unpacking: Unpacking = { port, whole, root: real, owners: options.owners, entered: new Set(), last: [] }
  let entries = 0
  let bytes = 0
  const archive = await plainOf(body)
  try {
    for await (const entry of tarEntries(archive)) {
      if (!(await unpackEntry(unpacking, entry))) continue
      entries++
      if (entry.kind === 'file') bytes += entry.size
    }
    for (const finish of unpacking.last.toReversed()) await finish()
  } catch (error) {
    const ours = isError(error) || /^E[A-Z0-9]+$/.test(errno(error) ?? '')
    throw ours
      ? error
      : fail('invalid_argument', { field: 'body', reason: `is no tar archive: ${messageOf(error)}` }, error)
  } finally {
    await archive.return()
  }
  return { entries, bytes }
}
