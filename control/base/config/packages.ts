/** Registries whose packages are kept on this host, and how much of them. */
import { s } from '../../../shared/schema.ts'
import { integerOf, listOf, refuse, textOf, type Environment } from './values.ts'

const packageKinds = ['npm', 'pypi', 'debian', 'go'] as const
const MiB = 1024 * 1024
const megabytes = { fallback: 4_096, min: 64, max: 1_048_576 } as const

export interface Packages {
  /** Hosts, and what they serve; none for no cache. */
  readonly hosts: readonly { readonly kind: (typeof packageKinds)[number]; readonly host: string }[]
  /** Bytes on the disk. */
  readonly maxBytes: number
}

const hostName = /^(?=.{1,253}$)(?=.*[a-z])[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$/

export const packagesShape = s.strictObject({
  hosts: s.array(s.strictObject({ kind: s.enum(packageKinds), host: s.string().check(s.regex(hostName)) })),
  maxBytes: s.number().check(s.minimum(megabytes.min * MiB), s.maximum(megabytes.max * MiB)),
})

const isKind = (text: string): text is (typeof packageKinds)[number] => packageKinds.some(kind => kind === text)

/** `npm=registry.example.com,go=proxy.example.com`: one line for each host. */
export const packagesFrom = (env: Environment): Packages => {
  const hosts = listOf(env, 'HUTCH_PACKAGE_HOSTS').map(text => {
    const [kind = '', host = '', ...more] = text.toLowerCase().split('=')
    if (isKind(kind) && hostName.test(host) && more.length === 0) return { kind, host }
    throw refuse(
      'HUTCH_PACKAGE_HOSTS',
      `"${text}" is not ${packageKinds.join(', ')} with a host, like npm=npm.example.com`,
    )
  })
  const twice = hosts.find(({ host }, at) => hosts.findIndex(other => other.host === host) !== at)
  if (twice) throw refuse('HUTCH_PACKAGE_HOSTS', `"${twice.host}" is there twice`)
  if (hosts.length === 0 && textOf(env, 'HUTCH_PACKAGE_CACHE_MB'))
    throw refuse('HUTCH_PACKAGE_CACHE_MB', 'is for the hosts of HUTCH_PACKAGE_HOSTS, which names none')
  return { hosts, maxBytes: integerOf(env, 'HUTCH_PACKAGE_CACHE_MB', megabytes) * MiB }
}
