/**
 * Puts the anonymous memory of a frozen machine into the box's swap, which may be compressed memory (zram). Pages of files
 * stay: those of the runtime bundle are every machine's.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../../../shared/clock.ts'
import { messageOf } from '../../../../shared/errors.ts'
import { run } from '../command.ts'
import { children, readControl, type Hierarchy } from './hierarchy.ts'

/** Whether the operator has given the box any swap. */
export const hasSwap = async (): Promise<boolean> =>
  (await readFile('/proc/swaps', 'utf8')).trimEnd().split('\n').length > 1

/** Bytes that are not worth another look. */
const leftBytes = 256 * 1024
const boundMs = 30_000

/** Swap is preferred to pages of files as far as the kernel can. */
const onlyAnonymous = '200'

interface Way {
  /** Bytes of no file of a disk that are in memory. */
  left(): Promise<number>
  /** The file that makes the kernel reclaim, and what is written there. */
  readonly file: string
  readonly text: string
  /** Files that have other contents meanwhile. */
  readonly meanwhile: Readonly<Record<string, string>>
  /** What they have otherwise: not what was read, which may be what a server that was killed has left. */
  readonly otherwise: () => Promise<Readonly<Record<string, string>>>
}

const wayOf = (hierarchy: Hierarchy, path: string): Way | undefined => {
  const mount = hierarchy.mountOf('memory')
  if (mount === undefined) return undefined
  const directory = join(mount, path)
  const two = hierarchy.version === 2
  // What gVisor runs has its memory in a file without a name, which counts as shared; so does what lies in /dev/shm.
  const fields = new RegExp(two ? '^(?:anon|shmem) (\\d+)$' : '^total_(?:rss|shmem) (\\d+)$', 'gm')
  const left = async () => {
    const text = (await readControl(join(directory, 'memory.stat'))) ?? ''
    return [...text.matchAll(fields)].reduce((sum, [, bytes]) => sum + Number(bytes), 0)
  }
  return two
    ? {
        left,
        file: join(directory, 'memory.reclaim'),
        text: '1T',
        meanwhile: { [join(directory, 'memory.swap.max')]: 'max' },
        // A machine has no swap of its own: its limit is of both together.
        otherwise: async () => ({ [join(directory, 'memory.swap.max')]: '0' }),
      }
    : {
        left,
        file: join(directory, 'memory.force_empty'),
        text: '0',
        meanwhile: { [join(directory, 'memory.swappiness')]: onlyAnonymous },
        otherwise: async () => ({
          [join(directory, 'memory.swappiness')]: (await readControl(join(mount, 'memory.swappiness'))) ?? '60',
        }),
      }
}

/** Files that are not there are left out. */
const put = async (contents: Readonly<Record<string, string>>): Promise<void> => {
  for (const [file, text] of Object.entries(contents))
    if ((await readControl(file)) !== undefined) await writeFile(file, text.trim())
}

/**
 * Gives the machines below `parent` back what they have otherwise: a server that was killed while it reclaimed has left them the rest, with version 2
 * swap beyond their limit once they wake.
 */
export const endReclaims = async (hierarchy: Hierarchy, parent: string): Promise<void> => {
  const mount = hierarchy.mountOf('memory')
  for (const name of (mount && (await children(join(mount, parent)))) || []) {
    const way = wayOf(hierarchy, join(parent, name))
    if (way) await put(await way.otherwise())
  }
}

/**
 * Resolves when nothing anonymous is left in memory, when no more goes out, or when `signal` says that the machine is wanted.
 * The write is another process's: the kernel ends it when that is killed, and this server's threads wait for nothing.
 */
export const reclaimGroup = async (
  hierarchy: Hierarchy,
  path: string,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<void> => {
  const way = wayOf(hierarchy, path)
  if (
    !way ||
    signal.aborted ||
    !(await hasSwap()) ||
    (await readControl(way.file.replace(/[^/]+$/, 'memory.stat'))) === undefined
  )
    return
  await put(way.meanwhile)
  const enough = new AbortController()
  const stop = AbortSignal.any([signal, enough.signal])
  const writing = run({
    step: 'reclaim',
    file: '/bin/sh',
    args: ['-c', 'echo "$1" > "$2"', 'sh', way.text, way.file],
    signal: stop,
    timeoutMs: boundMs,
  })
    .then(() => undefined)
    .catch((error: unknown) => {
      // It was ended, or the kernel says that it could not reclaim all of what was asked for, which nobody expects.
      return stop.aborted || /temporarily unavailable|Interrupted/.test(messageOf(error)) ? undefined : { error }
    })
    .finally(() => enough.abort())
  try {
    while (!stop.aborted) {
      if ((await way.left()) <= leftBytes) enough.abort()
      else await clock.sleep(10)
    }
    const failure = await writing
    if (failure) throw failure.error
  } finally {
    await put(await way.otherwise())
  }
}
