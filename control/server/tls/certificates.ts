/** The certificates that are served now. Files are looked at again and again; one that cannot be used keeps what was before. */
import type { Clock } from '../../../shared/clock.ts'
import { fail, messageOf } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import { placesIn, readPair, type Pair, type Place } from './pairs.ts'

export interface Certificates {
  /** The one for a host name; undefined when there is none. */
  find(name: string): Pair | undefined
  /** The one for clients that name no host; undefined when there is none at all. */
  first(): Pair | undefined
  close(): void
}

export interface CertificateFiles {
  readonly cert: string
  readonly key: string
  readonly dir: string
}

const everyMs = 5_000

interface Known {
  readonly pairs: ReadonlyMap<string, Pair>
  /** What was said of files that cannot be used, so that it is said once. */
  readonly said: ReadonlyMap<string, string>
}

const placesOf = async ({ cert, key, dir }: CertificateFiles): Promise<Place[]> => [
  ...(cert ? [{ cert, key }] : []),
  ...(dir ? await placesIn(dir) : []),
]

/** Everything read anew: what cannot be used stays as it was in `before`. */
const readAll = async (files: CertificateFiles, before: Known, log: Log): Promise<Known> => {
  const pairs = new Map<string, Pair>()
  const said = new Map<string, string>()
  for (const place of await placesOf(files)) {
    const old = before.pairs.get(place.cert)
    try {
      const pair = await readPair(place)
      const isSame = old?.cert === pair.cert && old.key === pair.key
      pairs.set(place.cert, isSame ? old : pair)
      if (!isSame) log.info('tls.certificate', { file: place.cert, names: pair.names, notAfter: pair.notAfter })
    } catch (error) {
      const reason = messageOf(error)
      said.set(place.cert, reason)
      if (old) pairs.set(place.cert, old)
      if (before.said.get(place.cert) !== reason)
        log.error('tls.certificate_refused', { file: place.cert, reason, keepsOld: old !== undefined })
    }
  }
  return { pairs, said }
}

const wildcardOf = (name: string): string => `*${name.slice(name.indexOf('.'))}`

/** The one that is good for longest, of those for a name or else for all its siblings. */
export const findIn = (pairs: Iterable<Pair>, given: string): Pair | undefined => {
  const name = given.toLowerCase()
  const all = [...pairs]
  for (const wanted of [name, wildcardOf(name)]) {
    const found = all.filter(({ names }) => names.includes(wanted))
    if (found.length > 0) return found.toSorted((one, other) => other.notAfter - one.notAfter)[0]
  }
  return undefined
}

/** Reads the files and goes on doing so. Throws `invalid_argument` when there is no certificate that can be used. */
export const openCertificates = async (
  files: CertificateFiles,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  changed: (certificates: Certificates) => void,
): Promise<Certificates> => {
  let known: Known = { pairs: new Map(), said: new Map() }
  known = await readAll(files, known, log).catch((error: unknown) => {
    throw fail('invalid_argument', { field: 'HUTCH_TLS_DIR', reason: messageOf(error) }, error)
  })
  const [wrong] = known.said
  if (known.pairs.size === 0)
    throw fail('invalid_argument', {
      field: files.cert ? 'HUTCH_TLS_CERT' : 'HUTCH_TLS_DIR',
      reason: wrong ? `${wrong[0]} cannot be used: ${wrong[1]}` : `${files.dir} has no certificate with its key`,
    })
  let reading = false
  const again = async (): Promise<void> => {
    if (reading) return
    reading = true
    try {
      const next = await readAll(files, known, log)
      // An empty directory is one that is being written.
      if (next.pairs.size > 0) known = next
      changed(certificates)
    } catch (error) {
      log.error('tls.certificates_unreadable', { error })
    } finally {
      reading = false
    }
  }
  const certificates: Certificates = {
    find: name => findIn(known.pairs.values(), name),
    first: () => known.pairs.values().next().value,
    close: clock.every(everyMs, () => void again()),
  }
  return certificates
}
