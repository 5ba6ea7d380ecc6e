/** Certificates and their keys in files, as operators and their tools leave them. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createSecureContext, type SecureContext } from 'node:tls'

/** Two files, or one name that stands for both. */
export interface Place {
  readonly cert: string
  readonly key: string
}

export interface Pair {
  /** PEM: the certificate and what leads from it to an authority. */
  readonly cert: string
  readonly key: string
  /** Lower case; `*.example.org` stands for every name one label longer. */
  readonly names: readonly string[]
  /** Epoch ms. */
  readonly notBefore: number
  readonly notAfter: number
  readonly context: SecureContext
}

const namesOf = ({ subjectAltName = '', subject }: X509Certificate): string[] => {
  const names = [...subjectAltName.matchAll(/DNS:([^,\s]+)/g)].map(([, name]) => (name as string).toLowerCase())
  const common = /^CN=(.+)$/m.exec(subject)?.[1]
  return names.length > 0 || !common ? names : [common.toLowerCase()]
}

/** Throws what is wrong with them. */
export const pairOf = (cert: string, key: string): Pair => {
  const leaf = new X509Certificate(cert)
  if (!leaf.checkPrivateKey(createPrivateKey(key))) throw new Error('the key is that of another certificate')
  return {
    cert,
    key,
    names: namesOf(leaf),
    notBefore: leaf.validFromDate.getTime(),
    notAfter: leaf.validToDate.getTime(),
    context: createSecureContext({ cert, key }),
  }
}

/** Rejects with what is wrong with them. */
export const readPair = async ({ cert, key }: Place): Promise<Pair> =>
  pairOf(await readFile(cert, 'utf8'), await readFile(key, 'utf8'))

const certificateEndings = ['.crt', '.pem', '.cert']

/** `NAME.key` beside `NAME.crt` or `NAME.pem`, and `NAME/privkey.pem` beside `NAME/fullchain.pem`, as certbot has them. */
export const placesIn = async (dir: string): Promise<Place[]> => {
  const entries = await readdir(dir, { withFileTypes: true })
  const names = new Set(entries.map(({ name }) => name))
  const beside = [...names].sort().flatMap(name => {
    const stem = name.endsWith('.key') && name.slice(0, -'.key'.length)
    const ending = stem && certificateEndings.find(one => names.has(stem + one))
    return ending ? [{ cert: join(dir, stem + ending), key: join(dir, name) }] : []
  })
  const inside = await Promise.all(
    entries
      .filter(entry => entry.isDirectory() || entry.isSymbolicLink())
      .map(async ({ name }) => {
        const at = join(dir, name)
        const found: string[] = await readdir(at).catch(() => [])
        const both = found.includes('fullchain.pem') && found.includes('privkey.pem')
        return both ? [{ cert: join(at, 'fullchain.pem'), key: join(at, 'privkey.pem') }] : []
      }),
  )
  return [...beside, ...inside.flat()]
}
