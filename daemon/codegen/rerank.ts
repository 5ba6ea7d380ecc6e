import { posix } from 'node:path'
import { errno, fail, isError, messageOf } from '../../shared/errors.ts'
import type { FilePort } from '../filesystem/port.ts'
import { compilePattern } from './pattern.ts'
import type { Provider, SourceFile } from './provider.ts'
import { readBytes } from './source.ts'
import { walk } from './walk.ts'

/** Bytes that all candidates together may have: they are sent in one request. */
const maxBytes = 32 * 1024 * 1024
const skipped = new Set(['node_modules', 'vendor', '.git', 'dist', 'build', 'target', '__pycache__', '.venv'])
const defaults = { scoreThreshold: 0.5, tokenLimit: 30_000 } as const

interface RerankRequest {
  /** Absolute path of a directory. */
  readonly path: string
  readonly query: string
  readonly scoreThreshold?: number | undefined
  readonly tokenLimit?: number | undefined
  /** Regular expression on the full path or the base name. */
  readonly filePattern?: string | undefined
}

interface RankedFile extends SourceFile {
  readonly score: number
}

const namesAtOnce = 512

/** Paths of the files that `filePattern` matches. */
async function* candidates(port: FilePort, request: RerankRequest, signal: AbortSignal): AsyncGenerator<string> {
  const { path: root, filePattern } = request
  const pattern = filePattern ? compilePattern(filePattern) : undefined
  const chosen = (paths: readonly string[]): readonly string[] => {
    if (!pattern) return paths
    const [whole, base] = [pattern.test(paths), pattern.test(paths.map(path => posix.basename(path)))]
    return paths.filter((_, index) => whole[index] || base[index])
  }
  let paths: string[] = []
  for await (const path of walk(port, root, { signal, enter: name => !skipped.has(name) })) {
    if (posix.basename(path).startsWith('.')) continue
    paths.push(path)
    if (paths.length < namesAtOnce) continue
    yield* chosen(paths)
    paths = []
  }
  yield* chosen(paths)
}

const collect = async (port: FilePort, request: RerankRequest, signal: AbortSignal): Promise<SourceFile[]> => {
  const files: SourceFile[] = []
  let left = maxBytes
  for await (const path of candidates(port, request, signal)) {
    signal.throwIfAborted()
    const bytes = await readBytes(port, path, left).catch(error => {
      if (errno(error) === 'ERR_FS_FILE_TOO_LARGE')
        throw fail('unprocessable', { reason: `the files hold more than ${maxBytes} bytes; narrow with filePattern` })
      // Files that cannot be read are left out.
      if (errno(error) !== undefined) return undefined
      throw error
    })
    if (!bytes) continue
    left -= bytes.length
    files.push({ path, content: bytes.toString('utf8') })
  }
  return files
}

const requireDirectory = async (port: FilePort, path: string): Promise<void> => {
  const { kind } = await port.stat(path).catch(error => {
    throw fail('invalid_argument', { field: 'path', reason: messageOf(error) }, error)
  })
  if (kind !== 'directory') throw fail('invalid_argument', { field: 'path', reason: 'is not a directory' })
}

/** Files at or above the threshold, best first. Throws `invalid_argument` when `path` is no directory, else `unprocessable`. */
export const rerank = async (
  deps: { port: FilePort; provider: Provider },
  request: RerankRequest,
  signal: AbortSignal,
): Promise<RankedFile[]> => {
  const { port, provider } = deps
  const { path, query, scoreThreshold = defaults.scoreThreshold, tokenLimit = defaults.tokenLimit } = request
  await requireDirectory(port, path)
  const files = await collect(port, request, signal).catch(error => {
    if (isError(error)) throw error
    throw fail('unprocessable', { reason: `cannot read ${path}: ${messageOf(error)}` }, error)
  })
  if (files.length === 0) return []
  const scores = await provider.rank({ query, files, tokenLimit }, signal)
  return files
    .flatMap(file => {
      const score = scores.get(file.path)
      return score === undefined || score < scoreThreshold ? [] : { ...file, score }
    })
    .toSorted((a, b) => b.score - a.score)
}
