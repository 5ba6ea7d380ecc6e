/**
 * Packages that several sandboxes install, kept on this host. What is given out came from its registry, over a connection that this host
 * has made and whose certificate it has checked, in answer to a request in which nothing was the sandbox's own but the address and
 * what form it takes; so no sandbox chooses what another one gets.
 */
import { readFile, type FileHandle } from 'node:fs/promises'
import { rmSync } from 'node:fs'
import type { Clock } from '../../../../shared/clock.ts'
import type { Ids } from '../../../../shared/ids.ts'
import type { Log } from '../../../../shared/log.ts'
import type { RawHeaders } from '../http/response-head.ts'
import { openPackageFiles, type PackageFiles } from './files.ts'
import { contentEncodingOf, freshForMs, type Said } from './freshness.ts'
import { isImmutable, promisedByPath, type PackageHost, type PackageKind, type Promised } from './kinds.ts'
import { createPromises, maxDocument } from './promises.ts'
import { receive, type Receiving } from './receive.ts'
import type { Kept } from './table.ts'
import { createVerified } from './verify.ts'

export interface PackageOptions {
  readonly directory: string
  readonly hosts: readonly PackageHost[]
  readonly maxBytes: number
}

/** One file of a registry. */
export interface Wanted {
  readonly kind: PackageKind
  readonly host: string
  readonly path: string
  readonly said: Pick<Said, 'accept' | 'acceptEncoding'>
}

export interface PackageCache {
  /** What the host serves, when it is one whose packages are kept. */
  covers(host: string): PackageKind | undefined
  find(wanted: Wanted): Kept | undefined
  /** It may be given out without asking the registry. */
  isFresh(kept: Kept): boolean
  /** Its body; undefined, and gone, when it is not what it was, or not what the registry now says. */
  open(wanted: Wanted, kept: Kept): Promise<FileHandle | undefined>
  /** A place for an answer that comes; undefined when there is none. `length` is that of its body, where it is known. */
  receive(wanted: Wanted, headers: RawHeaders, length: number | undefined): Arriving | undefined
  /** The registry says that it still holds. */
  renew(kept: Kept, headers: RawHeaders): void
}

/** An answer that is being written down. One of the two is called, once. */
export interface Arriving {
  write(piece: Buffer): void
  keep(): Promise<void>
  drop(): void
}

/** An answer of unknown length has room for so much. */
const unknownLength = 64 * 1024 * 1024

const urlOf = ({ host, path }: Wanted): string => `https://${host}${path}`
const keyOf = (wanted: Wanted): string =>
  JSON.stringify([urlOf(wanted), wanted.said.accept, wanted.said.acceptEncoding])

interface Context {
  readonly files: PackageFiles
  readonly promises: ReturnType<typeof createPromises>
  readonly verified: ReturnType<typeof createVerified>
  readonly clock: Clock
  readonly log: Log
}

const promisedFor = ({ promises }: Context, wanted: Wanted): Promised | undefined =>
  promisedByPath(wanted.kind, wanted.path) ?? promises.of(urlOf(wanted))

const keep = async (context: Context, wanted: Wanted, headers: RawHeaders, receiving: Receiving): Promise<void> => {
  const { files, promises, verified, clock } = context
  const body = await receiving.finish()
  if (!body) return
  const { file, digest, size } = body
  try {
    const immutable = isImmutable(wanted.kind, wanted.path)
    if (!immutable && size <= maxDocument)
      await promises.learn(wanted.kind, urlOf(wanted), await readFile(file), contentEncodingOf(headers))
    const storedAt = clock.now()
    const freshUntil = storedAt + freshForMs(headers)
    const answer = { key: keyOf(wanted), digest, size, headers: [...headers], immutable, storedAt, freshUntil }
    if (files.add(answer, file)) verified.note(digest)
  } finally {
    // Gone from there when it was taken over.
    rmSync(file, { force: true })
  }
}

/** Opens the directory. Throws what reading it throws. */
export const openPackageCache = (
  { directory, hosts, maxBytes }: PackageOptions,
  deps: { clock: Clock; log: Log; ids: Ids; maxAnswers?: number },
): PackageCache => {
  const { clock, log, ids } = deps
  // A quarter of the room is for what is on its way.
  const mostIncoming = Math.floor(maxBytes / 4)
  const files = openPackageFiles(directory, maxBytes - mostIncoming, deps)
  const context: Context = { files, promises: createPromises(), verified: createVerified(), clock, log }
  const kinds = new Map(hosts.map(({ host, kind }) => [host, kind]))
  let incoming = 0
  return {
    covers: host => kinds.get(host),
    find: wanted => files.find(keyOf(wanted)),
    isFresh: ({ immutable, freshUntil }) => immutable || clock.now() < freshUntil,
    async open(wanted, kept) {
      const file = await context.verified.open(files.pathOf(kept.digest), kept.digest, promisedFor(context, wanted))
      if (file) files.touch(kept)
      else files.remove(kept.key)
      return file
    },
    receive(wanted, headers, length) {
      const most = length ?? Math.min(unknownLength, mostIncoming)
      if (incoming + most > mostIncoming) return undefined
      incoming += most
      const over = () => void (incoming -= most)
      const receiving = receive(files.incoming, ids.short(16), { most, promised: promisedFor(context, wanted), over })
      return {
        write: receiving.write,
        drop: receiving.drop,
        keep: () =>
          keep(context, wanted, headers, receiving).catch(error => log.warn('egress.packages.unkept', { error })),
      }
    },
    renew: (kept, headers) => files.renew(kept, clock.now() + freshForMs(headers)),
  }
}
