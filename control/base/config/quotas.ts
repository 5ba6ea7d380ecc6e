/** How much an account may have on this host: `sandboxes=100,volumes=20,sandbox_ttl=30`. */
import { closest } from '../../../shared/closest.ts'
import { listOf, refuse, type Environment } from './values.ts'

/** Days that a sandbox lives at most, whatever it asks for. */
export const ttlQuota = 'sandbox_ttl'

/** Resources that are counted, over all workspaces of an account; named as in their addresses. */
const countedQuotas = [
  'sandboxes',
  'agents',
  'functions',
  'models',
  'jobs',
  'applications',
  'volumes',
  'drives',
  'policies',
  'customdomains',
] as const

const names: readonly string[] = [...countedQuotas, ttlQuota]

/** By name; what is not there has no limit. Throws `invalid_argument` that names the variable. */
export const quotasFrom = (env: Environment): Readonly<Record<string, number>> => {
  const quotas = new Map<string, number>()
  for (const part of listOf(env, 'HUTCH_QUOTAS')) {
    const [, name = '', value = ''] = /^([a-z_]+)\s*=\s*(\d{1,9})$/.exec(part) ?? []
    if (!name) throw refuse('HUTCH_QUOTAS', `"${part}" is not name=number, like sandboxes=100`)
    if (!names.includes(name)) {
      const near = closest(name, names)
      throw refuse(
        'HUTCH_QUOTAS',
        `"${name}" has no quota; ${near ? `did you mean ${near}?` : `there are ${names.join(', ')}`}`,
      )
    }
    if (quotas.has(name)) throw refuse('HUTCH_QUOTAS', `"${name}" is there twice`)
    if (name === ttlQuota && Number(value) === 0)
      throw refuse('HUTCH_QUOTAS', `"${part}" would end every sandbox at once`)
    quotas.set(name, Number(value))
  }
  return Object.fromEntries(quotas)
}
