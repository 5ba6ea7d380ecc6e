/** Logins for registries in a docker configuration (`{auths: {host: {auth}}}`). */
import { fail, messageOf } from '../../../shared/errors.ts'
import { parse, s } from '../../../shared/schema.ts'
import type { Login } from '../images/pull/registry.ts'

const shape = s.looseObject({
  auths: s.record(
    s.string(),
    s.looseObject({ auth: s.optional(s.string()), username: s.optional(s.string()), password: s.optional(s.string()) }),
  ),
})

const refuse = (reason: string, cause?: unknown) => fail('invalid_argument', { field: 'dockerConfig', reason }, cause)

/** `https://index.docker.io/v1/` is how Docker writes its own. */
const hostOf = (key: string): string => {
  const host = key.replace(/^https?:\/\//, '').split('/')[0] ?? ''
  return host === 'index.docker.io' ? 'docker.io' : host
}

/** By the registry's host. Throws `invalid_argument` naming `dockerConfig`. */
export const loginsIn = (text: string): ReadonlyMap<string, Login> => {
  let auths: Record<string, { auth?: string | undefined; username?: string | undefined; password?: string | undefined }>
  try {
    ;({ auths } = parse(shape, JSON.parse(text), 'config'))
  } catch (error) {
    throw refuse(`is no docker configuration: ${messageOf(error)}`, error)
  }
  const logins = new Map<string, Login>()
  for (const [key, { auth, username, password }] of Object.entries(auths)) {
    const pair = auth === undefined ? undefined : Buffer.from(auth, 'base64').toString('utf8')
    const colon = pair?.indexOf(':') ?? -1
    if (pair !== undefined && colon > 0)
      logins.set(hostOf(key), { username: pair.slice(0, colon), password: pair.slice(colon + 1) })
    else if (username !== undefined && password !== undefined) logins.set(hostOf(key), { username, password })
    else throw refuse(`auths.${key.slice(0, 80)} has neither auth nor username and password`)
  }
  return logins
}
