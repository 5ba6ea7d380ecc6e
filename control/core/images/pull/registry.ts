/** One repository of a registry, in the distribution protocol (https://distribution.github.io/distribution/spec/api/). */
import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { fail } from '../../../../shared/errors.ts'
import { parse, s } from '../../../../shared/schema.ts'
import type { RegistryRule } from '../../../base/config.ts'
import type { Remote } from '../reference.ts'
import type { Answer, Http } from './http.ts'
import { acceptedTypes, readJson, readManifest, type Manifest } from './manifest.ts'
import { registryUrl } from './reach.ts'

/** What a workspace signs in with. */
export interface Login {
  readonly username: string
  readonly password: string
}

export interface Repository {
  /** The manifest for this machine, with its digest (`sha256:…`). Throws `unprocessable` when there is none. */
  manifest(signal: AbortSignal): Promise<{ manifest: Manifest; digest: string }>
  /** The bytes of a blob; whoever reads them checks their digest. */
  blob(digest: string, signal: AbortSignal): Promise<Readable>
}

const maxManifest = 4 * 1024 * 1024
const maxToken = 256 * 1024

const readAll = async ({ body }: Answer, max: number, what: string): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > max) throw fail('unprocessable', { reason: `${what} is larger than ${max} bytes` })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const oneOf = (value: string | string[] | undefined): string =>
  Array.isArray(value) ? value.join(', ') : (value ?? '')

/** `Bearer realm="…",service="…",scope="…"`. */
const challengeOf = (header: string): Readonly<Record<string, string>> | undefined => {
  const bearer = /(?:^|,\s*)bearer\s+(.*)$/i.exec(header)?.[1]
  if (bearer === undefined) return undefined
  const parts = bearer.matchAll(/([a-z]+)="([^"]*)"/gi)
  return Object.fromEntries([...parts].map(([, name = '', value = '']) => [name.toLowerCase(), value]))
}

const tokenAnswer = s.looseObject({ token: s.optional(s.string()), access_token: s.optional(s.string()) })

const basic = ({ username, password }: Login): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`

interface Context {
  readonly http: Http
  readonly remote: Remote
  readonly base: URL
  readonly login: Login | undefined
}

const tokenFor = async (
  { http, base, login, remote }: Context,
  { realm = '', service, scope }: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string> => {
  const url = URL.parse(realm)
  // A registry with TLS does not have its users' passwords sent without.
  if (!url || (base.protocol === 'https:' && url.protocol !== 'https:'))
    throw fail('forbidden', { reason: `${base.host} wants credentials sent where a pull does not send them` })
  if (service) url.searchParams.set('service', service)
  url.searchParams.set('scope', scope ?? `repository:${remote.repository}:pull`)
  const answer = await http.get(url, login ? { authorization: basic(login) } : {}, signal)
  const text = (await readAll(answer, maxToken, 'the token')).toString('utf8')
  if (answer.status !== 200) throw refusal(answer.status, remote, login, url.host)
  const { token, access_token } = readJson(text, `the token of ${url.host}`, value =>
    parse(tokenAnswer, value, 'config'),
  )
  const found = token ?? access_token
  if (!found) throw fail('unprocessable', { reason: `${url.host} gave no token` })
  return `Bearer ${found}`
}

/** Why a registry gave nothing. Only what another try may change can be tried again. */
const refusal = (status: number, { host, repository }: Remote, login: Login | undefined, asked = host) => {
  if (status === 401 || status === 403)
    return fail('unprocessable', {
      reason: login
        ? `${asked} refuses the credentials that this workspace has for ${host} (status ${status})`
        : `${asked} lets nobody read ${repository} without credentials (status ${status}), and this workspace has none for ${host}`,
    })
  if (status === 404) return fail('unprocessable', { reason: `${host} does not have it` })
  if (status === 429 || status >= 500)
    return fail('unavailable', { what: `${asked} answers with status ${status}`, next: 'try again' })
  return fail('unprocessable', { reason: `${asked} answers with status ${status}` })
}

/** Throws `forbidden` when the operator's list does not have the registry. */
export const openRepository = (
  remote: Remote,
  deps: { http: Http; registries: readonly RegistryRule[]; login: Login | undefined },
): Repository => {
  const { http, registries, login } = deps
  const base = registryUrl(remote.host, registries)
  if (!base)
    throw fail('forbidden', { reason: `${remote.host} is not among the registries of this host (HUTCH_REGISTRIES)` })
  const context: Context = { http, remote, base, login }
  let authorization: string | undefined

  const get = async (path: string, accept: string, signal: AbortSignal): Promise<Answer> => {
    const url = new URL(`/v2/${remote.repository}/${path}`, base)
    const ask = () => http.get(url, { accept, ...(authorization ? { authorization } : {}) }, signal)
    let answer = await ask()
    // Whom a redirect leads to may not ask for the credentials of the registry.
    if (answer.status === 401 && answer.origin === base.origin) {
      await answer.body.dump()
      const challenge = challengeOf(oneOf(answer.headers['www-authenticate']))
      const isBasic = /\bbasic\b/i.test(oneOf(answer.headers['www-authenticate']))
      if (challenge) authorization = await tokenFor(context, challenge, signal)
      else if (isBasic && login) authorization = basic(login)
      else throw refusal(401, remote, login)
      answer = await ask()
    }
    if (answer.status === 200) return answer
    await answer.body.dump()
    throw refusal(answer.status, remote, login)
  }

  const readOne = async (reference: string, signal: AbortSignal) => {
    const answer = await get(`manifests/${reference}`, acceptedTypes, signal)
    const bytes = await readAll(answer, maxManifest, 'its manifest')
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
    if (reference.startsWith('sha256:') && digest !== reference)
      throw fail('unprocessable', { reason: `${remote.host} sent another manifest than ${reference}` })
    const [type = ''] = oneOf(answer.headers['content-type']).split(';')
    return { read: readManifest(bytes.toString('utf8'), type.trim()), digest }
  }

  return {
    async manifest(signal) {
      const first = await readOne(remote.digest ?? remote.tag ?? 'latest', signal)
      if (typeof first.read !== 'string') return { manifest: first.read, digest: first.digest }
      const { read, digest } = await readOne(first.read, signal)
      if (typeof read === 'string') throw fail('unprocessable', { reason: 'its index leads to another index' })
      return { manifest: read, digest }
    },
    blob: async (digest, signal) => (await get(`blobs/${digest}`, '*/*', signal)).body,
  }
}
